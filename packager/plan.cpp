#include "synps/plan.h"
