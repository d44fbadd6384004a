#include "synps/path_pattern.h"
