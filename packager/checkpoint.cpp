#include "synps/checkpoint.h"
