#include "synps/policy.h"
