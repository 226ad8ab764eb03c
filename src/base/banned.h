/*
 * banned.h - functions that may not be called; base.h has the replacements.
 * Included by base.h after the headers that declare them.
 */
#ifndef KF_BANNED_H
#define KF_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok
#pragma GCC poison atoi atol atof popen gmtime localtime tmpnam mktemp

#undef system
#define system(command)	kf_banned_use_kf_proc_run
#undef gets
#define gets(line)	kf_banned_use_getline

#endif
