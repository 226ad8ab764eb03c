/*
 * half.h - the two 16-bit floating-point types. To read them is exact; to
 * write them rounds to nearest, ties to even, as everybody does. Pure.
 */
#ifndef KF_BASE_HALF_H
#define KF_BASE_HALF_H

#include "base/base.h"

static inline float kf_float_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t kf_bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Without a branch: the exponent is moved by a multiplication, which also makes
 * normal numbers of half's denormal ones. */
static inline float kf_float_of_half(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
	uint32_t body = (uint32_t)(half & 0x7fffu) << 13;
	float small = kf_float_of_bits(body) * 0x1p112f;
	uint32_t beyond = body >= 0x7c00u << 13 ? 0xffffffffu : 0;
	uint32_t bits = kf_bits_of_float(small);

	bits = (bits & ~beyond) | ((body | 0x7f800000u) & beyond);
	return kf_float_of_bits(bits | sign);
}

static inline float kf_float_of_bfloat(uint16_t bfloat)
{
	return kf_float_of_bits((uint32_t)bfloat << 16);
}

static inline uint16_t kf_half_of_float(float value)
{
	uint32_t bits = kf_bits_of_float(value), body = bits & 0x7fffffffu;
	uint32_t sign = bits >> 16 & 0x8000u;

	if (body >= 0x47800000u)	/* 65,536, infinity, NaN */
		body = body > 0x7f800000u ? 0x7e00u : 0x7c00u;
	else if (body < 0x38800000u)	/* denormal: 0.5's last place is ours */
		body = kf_bits_of_float(kf_float_of_bits(body) + 0.5f) -
			0x3f000000u;
	else
		body = (body - 0x38000000u + 0xfffu + (body >> 13 & 1)) >> 13;
	return (uint16_t)(sign | body);
}

static inline uint16_t kf_bfloat_of_float(float value)
{
	uint32_t bits = kf_bits_of_float(value);

	if ((bits & 0x7fffffffu) > 0x7f800000u)
		return (uint16_t)(bits >> 16 | 0x40u);
	return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

#endif
