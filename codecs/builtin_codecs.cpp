#include "synps/builtin_codecs.h"
