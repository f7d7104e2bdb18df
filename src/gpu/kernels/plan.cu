// The kernels of a run: they fill a tensor with its pattern, check it, and look at what lies around it.
//
// No includes and no libraries, so that the text compiles to PTX without a toolkit (see `build`).
// `pattern.rs` computes the same words on the host; a test on the fake driver compares the two.
//
// A range begins at any byte address, because a plan may have an alignment of 1. Word i of a range covers its bytes
// 4i to 4i + 3; the last word may be shorter. Launches are slices of a range: `first_word` is the slice's position.

typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ u32 mix(u32 x) {
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    x ^= x >> 16;
    return x;
}

// The top bit of every byte is 0; that of poison and canary bytes is 1, so that each written byte differs from both.
__device__ __forceinline__ u32 pattern(u32 seed, u64 word) {
    u32 low = (u32)word;
    u32 high = (u32)(word >> 32);
    return mix(seed + low * 0x9e3779b9u + high * 0x7feb352du) & 0x7f7f7f7fu;
}

__device__ __forceinline__ u32 seed_of(u32 tag, u32 epoch) {
    return mix(tag * 0x9e3779b1u + epoch * 0x85ebca77u + 1u);
}

__device__ __forceinline__ u32 bytes_in_word(u64 bytes, u64 word) {
    u64 left = bytes - word * 4;
    return left < 4 ? (u32)left : 4u;
}

__device__ __forceinline__ void store_word(u64 address, u64 bytes, u64 word, u32 value) {
    u64 at = address + word * 4;
    u32 n = bytes_in_word(bytes, word);
    if (n == 4 && (at & 3) == 0) {
        *(u32 *)at = value;
        return;
    }
    for (u32 i = 0; i < n; i++) {
        *(unsigned char *)(at + i) = (unsigned char)(value >> (8 * i));
    }
}

// Bytes beyond the end read as those of `value`, so that they never differ from it.
__device__ __forceinline__ u32 load_word(u64 address, u64 bytes, u64 word, u32 value) {
    u64 at = address + word * 4;
    u32 n = bytes_in_word(bytes, word);
    if (n == 4 && (at & 3) == 0) {
        return *(const u32 *)at;
    }
    u32 found = 0;
    for (u32 i = 0; i < 4; i++) {
        u32 byte = i < n ? *(const unsigned char *)(at + i) : (value >> (8 * i)) & 255u;
        found |= byte << (8 * i);
    }
    return found;
}

// One atomic per warp and field: the number of wrong words, the first and the last of them.
__device__ __forceinline__ void report_words(u32 wrong, u32 first, u32 last, u32 *report) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        u32 other_first = __shfl_down_sync(0xffffffffu, first, offset);
        u32 other_last = __shfl_down_sync(0xffffffffu, last, offset);
        wrong += __shfl_down_sync(0xffffffffu, wrong, offset);
        first = other_first < first ? other_first : first;
        last = other_last > last ? other_last : last;
    }
    if ((threadIdx.x & 31) == 0 && wrong > 0) {
        atomicAdd(report, wrong);
        atomicMin(report + 1, first);
        atomicMax(report + 2, last);
    }
}

extern "C" __global__ void plan_fill(u64 address, u64 bytes, u64 first_word, u32 tag, const u32 *epoch) {
    u32 seed = seed_of(tag, *epoch);
    u64 words = (bytes + 3) / 4;
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 word = (u64)blockIdx.x * blockDim.x + threadIdx.x; word < words; word += stride) {
        store_word(address, bytes, word, pattern(seed, first_word + word));
    }
}

extern "C" __global__ void plan_check(u64 address, u64 bytes, u64 first_word, u32 tag, const u32 *epoch, u32 *report) {
    u32 seed = seed_of(tag, *epoch);
    u64 words = (bytes + 3) / 4;
    u64 stride = (u64)gridDim.x * blockDim.x;
    u32 wrong = 0, first = 0xffffffffu, last = 0;
    for (u64 word = (u64)blockIdx.x * blockDim.x + threadIdx.x; word < words; word += stride) {
        u32 value = pattern(seed, first_word + word);
        if (load_word(address, bytes, word, value) != value) {
            u32 position = (u32)(first_word + word);
            wrong += 1;
            first = position < first ? position : first;
            last = position > last ? position : last;
        }
    }
    report_words(wrong, first, last, report);
}

extern "C" __global__ void plan_constant_fill(u64 address, u64 bytes, u32 value) {
    u64 words = (bytes + 3) / 4;
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 word = (u64)blockIdx.x * blockDim.x + threadIdx.x; word < words; word += stride) {
        store_word(address, bytes, word, value);
    }
}

extern "C" __global__ void plan_constant_check(u64 address, u64 bytes, u64 first_word, u32 value, u32 *report) {
    u64 words = (bytes + 3) / 4;
    u64 stride = (u64)gridDim.x * blockDim.x;
    u32 wrong = 0, first = 0xffffffffu, last = 0;
    for (u64 word = (u64)blockIdx.x * blockDim.x + threadIdx.x; word < words; word += stride) {
        if (load_word(address, bytes, word, value) != value) {
            u32 position = (u32)(first_word + word);
            wrong += 1;
            first = position < first ? position : first;
            last = position > last ? position : last;
        }
    }
    report_words(wrong, first, last, report);
}

// counters[0]: bytes that differ from the poison byte; counters[1]: one past the highest of them, from the range's begin.
extern "C" __global__ void plan_footprint(u64 address, u64 bytes, u64 first_byte, u32 value, u64 *counters) {
    u64 words = (bytes + 3) / 4;
    u64 stride = (u64)gridDim.x * blockDim.x;
    u32 touched = 0;
    u64 top = 0;
    for (u64 word = (u64)blockIdx.x * blockDim.x + threadIdx.x; word < words; word += stride) {
        u32 differs = load_word(address, bytes, word, value) ^ value;
        for (u32 i = 0; i < 4; i++) {
            if ((differs >> (8 * i)) & 255u) {
                touched += 1;
                top = first_byte + word * 4 + i + 1;
            }
        }
    }
    u32 sum = touched;
    for (int offset = 16; offset > 0; offset >>= 1) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if ((threadIdx.x & 31) == 0 && sum > 0) {
        atomicAdd(counters, (u64)sum);
    }
    if (touched > 0) {
        atomicMax(counters + 1, top);
    }
}

extern "C" __global__ void plan_next_epoch(u32 *epoch) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *epoch += 1;
    }
}

// ---- kernels that compute -------------------------------------------------------------------------------------------
//
// One thread per result, striding over the rest. What a kernel has to know stands in a list of 64-bit numbers, `d`,
// written by `cuda/encode.rs`, which says what is where. Functions are computed in 64-bit floats from plain arithmetic,
// so that results are the same everywhere. No element decides where another one is, except indices, which are drawn
// into range.

typedef long long s64;

enum Type { F32, I64, I32, BOOL };

__device__ __forceinline__ double number_at(s64 bits) {
    return __longlong_as_double(bits);
}

__device__ __forceinline__ float load_float(u64 address, s64 at) {
    return *(const float *)(address + at * 4);
}

__device__ __forceinline__ void store_float(u64 address, s64 at, float value) {
    *(float *)(address + at * 4) = value;
}

__device__ __forceinline__ s64 load_whole(u64 address, s64 at, s64 type) {
    if (type == I64) {
        return *(const s64 *)(address + at * 8);
    }
    if (type == I32) {
        return *(const int *)(address + at * 4);
    }
    return *(const unsigned char *)(address + at);
}

__device__ __forceinline__ void store_whole(u64 address, s64 at, s64 type, s64 value) {
    if (type == I64) {
        *(s64 *)(address + at * 8) = value;
    } else if (type == I32) {
        *(int *)(address + at * 4) = (int)value;
    } else {
        *(unsigned char *)(address + at) = value != 0;
    }
}

__device__ double exponential(double x) {
    if (x > 709.0) {
        return __longlong_as_double(0x7ff0000000000000ll);
    }
    if (x < -708.0) {
        return 0.0;
    }
    if (x != x) {
        return x;
    }
    s64 n = (s64)(x * 1.4426950408889634 + (x < 0.0 ? -0.5 : 0.5));
    double r = x - (double)n * 0.6931471803691238 - (double)n * 1.9082149292705877e-10;
    double sum = 1.0, term = 1.0;
    #pragma unroll 1
    for (int i = 1; i < 14; i++) {
        term = term * r / (double)i;
        sum += term;
    }
    return sum * __longlong_as_double((n + 1023) << 52);
}

__device__ double logarithm(double x) {
    if (!(x > 0.0)) {
        return x == 0.0 ? -__longlong_as_double(0x7ff0000000000000ll) : __longlong_as_double(0x7ff8000000000000ll);
    }
    s64 bits = __double_as_longlong(x);
    s64 exponent = (bits >> 52) - 1023;
    double m = __longlong_as_double((bits & 0xfffffffffffffll) | 0x3ff0000000000000ll);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent += 1;
    }
    double t = (m - 1.0) / (m + 1.0), square = t * t, term = t, sum = 0.0;
    #pragma unroll 1
    for (int i = 1; i < 26; i += 2) {
        sum += term / (double)i;
        term *= square;
    }
    return 2.0 * sum + (double)exponent * 0.6931471805599453;
}

__device__ double hyperbolic_tangent(double x) {
    double e = exponential(x > 0.0 ? -2.0 * x : 2.0 * x);
    double t = (1.0 - e) / (1.0 + e);
    return x > 0.0 ? t : -t;
}

__device__ double error_function(double x) {
    double z = x < 0.0 ? -x : x, result;
    if (z > 6.0) {
        result = 1.0;
    } else if (z < 3.0) {
        double term = z, sum = z;
        #pragma unroll 1
        for (int n = 1; n < 60; n++) {
            term = term * -(z * z) / (double)n;
            sum += term / (2.0 * (double)n + 1.0);
        }
        result = sum * 1.1283791670955126;
    } else {
        double fraction = 0.0;
        #pragma unroll 1
        for (int n = 60; n > 0; n--) {
            fraction = (double)n * 0.5 / (z + fraction);
        }
        result = 1.0 - exponential(-z * z) * 0.5641895835477563 / (z + fraction);
    }
    return x < 0.0 ? -result : result;
}

__device__ double sine(double x) {
    s64 turns = (s64)(x * 0.3183098861837907 + (x < 0.0 ? -0.5 : 0.5));
    double r = x - (double)turns * 3.141592653589793, square = r * r, term = r, sum = r;
    #pragma unroll 1
    for (int i = 2; i < 24; i += 2) {
        term = term * -square / (double)(i * (i + 1));
        sum += term;
    }
    return (turns & 1) ? -sum : sum;
}

__device__ double power(double x, double y) {
    s64 whole = (s64)y;
    if ((double)whole == y && whole >= -64 && whole <= 64) {
        double result = 1.0;
        #pragma unroll 1
        for (s64 i = whole < 0 ? -whole : whole; i > 0; i--) {
            result *= x;
        }
        return whole < 0 ? 1.0 / result : result;
    }
    return exponential(y * logarithm(x));
}

__device__ double rounded_down(double x) {
    s64 whole = (s64)x;
    double back = (double)whole;
    if (!(x > -9e15 && x < 9e15)) {
        return x;
    }
    return back > x ? back - 1.0 : back;
}

__device__ __forceinline__ double between(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

enum Function {
    ABS, CEIL, CLIP, CONVERT, COS, ELU, ERF, EXP, FLOOR, GELU, GELU_BY_TANH, HARD_SIGMOID, HARD_SWISH, LEAKY_RELU, LOG, NEG, NOT,
    RECIPROCAL, RELU, SIGMOID, SIGN, SILU, SIN, SOFTPLUS, SQRT, TANH, ADD, AND, DIV, EQUAL, GREATER, GREATER_OR_EQUAL, LESS,
    LESS_OR_EQUAL, MAX, MIN, MUL, OR, POW, RELU_GRADIENT, SUB, WHERE
};

__device__ double of_one(s64 f, double x, double a, double b) {
    if (f == ABS) { return x < 0.0 ? -x : x; }
    if (f == CEIL) { return -rounded_down(-x); }
    if (f == CLIP) { return between(x, a, b); }
    if (f == COS) { return sine(x + 1.5707963267948966); }
    if (f == ELU) { return x < 0.0 ? a * (exponential(x) - 1.0) : x; }
    if (f == ERF) { return error_function(x); }
    if (f == EXP) { return exponential(x); }
    if (f == FLOOR) { return rounded_down(x); }
    if (f == GELU) { return 0.5 * x * (1.0 + error_function(x * 0.7071067811865476)); }
    if (f == GELU_BY_TANH) { return 0.5 * x * (1.0 + hyperbolic_tangent(0.7978845608028654 * (x + 0.044715 * x * x * x))); }
    if (f == HARD_SIGMOID) { return between(a * x + b, 0.0, 1.0); }
    if (f == HARD_SWISH) { return x * between(x / 6.0 + 0.5, 0.0, 1.0); }
    if (f == LEAKY_RELU) { return x < 0.0 ? a * x : x; }
    if (f == LOG) { return logarithm(x); }
    if (f == NEG) { return -x; }
    if (f == NOT) { return x == 0.0 ? 1.0 : 0.0; }
    if (f == RECIPROCAL) { return 1.0 / x; }
    if (f == RELU) { return x > 0.0 ? x : 0.0; }
    if (f == SIGMOID) { return 1.0 / (1.0 + exponential(-x)); }
    if (f == SIGN) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0; }
    if (f == SILU) { return x / (1.0 + exponential(-x)); }
    if (f == SIN) { return sine(x); }
    if (f == SOFTPLUS) { return (x > 0.0 ? x : 0.0) + logarithm(1.0 + exponential(x > 0.0 ? -x : x)); }
    if (f == SQRT) { return __dsqrt_rn(x); }
    if (f == TANH) { return hyperbolic_tangent(x); }
    return x;
}

__device__ double of_two(s64 f, double x, double y) {
    if (f == ADD) { return x + y; }
    if (f == SUB) { return x - y; }
    if (f == MUL) { return x * y; }
    if (f == DIV) { return x / y; }
    if (f == MAX) { return x > y ? x : y; }
    if (f == MIN) { return x < y ? x : y; }
    if (f == POW) { return power(x, y); }
    if (f == RELU_GRADIENT) { return y > 0.0 ? x : 0.0; }
    if (f == EQUAL) { return x == y; }
    if (f == GREATER) { return x > y; }
    if (f == GREATER_OR_EQUAL) { return x >= y; }
    if (f == LESS) { return x < y; }
    if (f == LESS_OR_EQUAL) { return x <= y; }
    if (f == AND) { return x != 0.0 && y != 0.0; }
    return x != 0.0 || y != 0.0;
}

__device__ s64 of_whole(s64 f, s64 x, s64 y, double a, double b) {
    if (f == ABS) { return x < 0 ? -x : x; }
    if (f == CLIP) { return x < (s64)a ? (s64)a : x > (s64)b ? (s64)b : x; }
    if (f == NEG) { return -x; }
    if (f == NOT) { return x == 0; }
    if (f == RELU) { return x > 0 ? x : 0; }
    if (f == SIGN) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
    if (f == ADD) { return x + y; }
    if (f == SUB) { return x - y; }
    if (f == MUL) { return x * y; }
    if (f == DIV) { return y == 0 ? 0 : x / y; }
    if (f == MAX) { return x > y ? x : y; }
    if (f == MIN) { return x < y ? x : y; }
    if (f == POW) {
        s64 result = 1;
        #pragma unroll 1
        for (s64 i = y < 64 ? y : 64; i > 0; i--) {
            result *= x;
        }
        return result;
    }
    if (f == EQUAL) { return x == y; }
    if (f == GREATER) { return x > y; }
    if (f == GREATER_OR_EQUAL) { return x >= y; }
    if (f == LESS) { return x < y; }
    if (f == LESS_OR_EQUAL) { return x <= y; }
    if (f == AND) { return x != 0 && y != 0; }
    if (f == OR) { return x != 0 || y != 0; }
    return x;
}

#define EACH(n) \
    u64 stride_of_grid = (u64)gridDim.x * blockDim.x; \
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < (u64)(n); i += stride_of_grid)

// Where element `i` of a shape is: rank, lengths, offset and strides stand in `d`.
__device__ s64 place_of(u64 i, s64 rank, const s64 *lengths, const s64 *strides) {
    s64 at = strides[0];
    #pragma unroll 1
    for (s64 axis = rank - 1; axis >= 0; axis--) {
        u64 length = (u64)lengths[axis];
        at += (s64)(i % length) * strides[1 + axis];
        i /= length;
    }
    return at;
}

// d: n, function, a, b, inputs, type of the output, types of three inputs, rank, 8 lengths, 3 times offset and 8 strides.
extern "C" __global__ void plan_map(const s64 *d, u64 out, u64 x, u64 y, u64 z) {
    s64 f = d[1], n_inputs = d[4], type = d[5], rank = d[9];
    double a = number_at(d[2]), b = number_at(d[3]);
    EACH(d[0]) {
        s64 at_x = place_of(i, rank, d + 10, d + 18);
        s64 at_y = n_inputs > 1 ? place_of(i, rank, d + 10, d + 27) : 0;
        if (f == WHERE) {
            u64 from = load_whole(x, at_x, d[6]) != 0 ? y : z;
            s64 at = from == y ? at_y : place_of(i, rank, d + 10, d + 36);
            if (type == F32) {
                store_float(out, i, load_float(from, at));
            } else {
                store_whole(out, i, type, load_whole(from, at, type));
            }
            continue;
        }
        bool is_float = d[6] == F32;
        if (f == CONVERT) {
            if (is_float && type == F32) {
                store_float(out, i, load_float(x, at_x));
            } else if (is_float) {
                float value = load_float(x, at_x);
                store_whole(out, i, type, type == BOOL ? (s64)(value != 0.0f) : (s64)value);
            } else if (type == F32) {
                store_float(out, i, (float)load_whole(x, at_x, d[6]));
            } else {
                store_whole(out, i, type, load_whole(x, at_x, d[6]));
            }
        } else if (is_float) {
            double first = load_float(x, at_x);
            double result = n_inputs > 1 ? of_two(f, first, load_float(y, at_y)) : of_one(f, first, a, b);
            if (type == F32) {
                store_float(out, i, (float)result);
            } else {
                store_whole(out, i, type, result != 0.0);
            }
        } else {
            s64 second = n_inputs > 1 ? load_whole(y, at_y, d[7]) : 0;
            store_whole(out, i, type, of_whole(f, load_whole(x, at_x, d[6]), second, a, b));
        }
    }
}

// d: n, bytes of an element, rank, 8 lengths, offset and 8 strides of the source, of the target.
extern "C" __global__ void plan_copy(const s64 *d, u64 out, u64 x) {
    s64 size = d[1], rank = d[2];
    EACH(d[0]) {
        s64 from = place_of(i, rank, d + 3, d + 11), to = place_of(i, rank, d + 3, d + 20);
        if (size == 8) {
            *(u64 *)(out + to * 8) = *(const u64 *)(x + from * 8);
        } else if (size == 4) {
            *(u32 *)(out + to * 4) = *(const u32 *)(x + from * 4);
        } else {
            *(unsigned char *)(out + to) = *(const unsigned char *)(x + from);
        }
    }
}

// d: bytes of the output, bytes of the pattern; the pattern follows.
extern "C" __global__ void plan_repeat(const s64 *d, u64 out) {
    u64 n = (u64)d[1];
    EACH(d[0]) {
        *(unsigned char *)(out + i) = *((const unsigned char *)(d + 2) + i % n);
    }
}

// d: n, rows, columns, depth, rank of the batch, 8 lengths, alpha, beta, whether there is a C; then for A, B and C each
// offset, 8 strides of the batch, strides of the two axes.
extern "C" __global__ void plan_product(const s64 *d, u64 out, u64 a, u64 b, u64 c) {
    s64 rows = d[1], columns = d[2], depth = d[3], rank = d[4];
    float alpha = (float)number_at(d[13]), beta = (float)number_at(d[14]);
    EACH(d[0]) {
        u64 batch = i / (u64)columns / (u64)rows;
        s64 row = (s64)(i / (u64)columns % (u64)rows), column = (s64)(i % (u64)columns);
        s64 at_a = place_of(batch, rank, d + 5, d + 16) + row * d[25];
        s64 at_b = place_of(batch, rank, d + 5, d + 27) + column * d[37];
        float sum = 0.0f;
        #pragma unroll 1
        for (s64 k = 0; k < depth; k++) {
            sum += load_float(a, at_a + k * d[26]) * load_float(b, at_b + k * d[36]);
        }
        float result = alpha * sum;
        if (d[15]) {
            result += beta * load_float(c, place_of(batch, rank, d + 5, d + 38) + row * d[47] + column * d[48]);
        }
        store_float(out, i, result);
    }
}

// The input's index under a tap, or -1 in the padding. `s` is where a sliding window begins in d: 3 lengths of the
// input, of the output, of the kernel, 3 strides, dilations and pads.
__device__ __forceinline__ s64 under(const s64 *s, int axis, s64 position, s64 tap) {
    s64 at = position * s[9 + axis] + tap * s[12 + axis] - s[15 + axis];
    return at >= 0 && at < s[axis] ? at : -1;
}

// d: n, groups, channels, filters, whether there is a bias, the sliding window.
extern "C" __global__ void plan_convolution(const s64 *d, u64 out, u64 x, u64 weights, u64 bias) {
    s64 groups = d[1], channels = d[2], filters = d[3];
    const s64 *s = d + 5;
    s64 plane = s[3] * s[4] * s[5], in_plane = s[0] * s[1] * s[2], taps = s[6] * s[7] * s[8];
    EACH(d[0]) {
        s64 position = (s64)i % plane, filter = (s64)i / plane % (groups * filters), image = (s64)i / plane / (groups * filters);
        s64 oz = position / (s[4] * s[5]), oy = position / s[5] % s[4], ox = position % s[5];
        float sum = d[4] ? load_float(bias, filter) : 0.0f;
        #pragma unroll 1
        for (s64 channel = 0; channel < channels; channel++) {
            s64 first = (image * groups * channels + filter / filters * channels + channel) * in_plane;
            s64 weight = (filter * channels + channel) * taps;
            #pragma unroll 1
            for (s64 tz = 0; tz < s[6]; tz++) {
                s64 z = under(s, 0, oz, tz);
                #pragma unroll 1
                for (s64 ty = 0; ty < s[7]; ty++) {
                    s64 y = under(s, 1, oy, ty);
                    #pragma unroll 1
                    for (s64 tx = 0; tx < s[8]; tx++) {
                        s64 column = under(s, 2, ox, tx);
                        if (z >= 0 && y >= 0 && column >= 0) {
                            s64 tap = (tz * s[7] + ty) * s[8] + tx;
                            sum += load_float(x, first + (z * s[1] + y) * s[2] + column) * load_float(weights, weight + tap);
                        }
                    }
                }
            }
        }
        store_float(out, i, sum);
    }
}

// d: n, whether the largest is wanted, whether the padding counts, the sliding window.
extern "C" __global__ void plan_pool(const s64 *d, u64 out, u64 x) {
    const s64 *s = d + 3;
    s64 plane = s[3] * s[4] * s[5], in_plane = s[0] * s[1] * s[2];
    EACH(d[0]) {
        s64 position = (s64)i % plane, first = (s64)i / plane * in_plane, n = 0;
        s64 oz = position / (s[4] * s[5]), oy = position / s[5] % s[4], ox = position % s[5];
        float most = __int_as_float(0xff800000), sum = 0.0f;
        #pragma unroll 1
        for (s64 tap = 0; tap < s[6] * s[7] * s[8]; tap++) {
            s64 z = under(s, 0, oz, tap / (s[7] * s[8])), y = under(s, 1, oy, tap / s[8] % s[7]), column = under(s, 2, ox, tap % s[8]);
            if (z >= 0 && y >= 0 && column >= 0) {
                float value = load_float(x, first + (z * s[1] + y) * s[2] + column);
                most = value > most ? value : most;
                sum += value;
                n += 1;
            }
        }
        n = d[2] ? s[6] * s[7] * s[8] : n > 0 ? n : 1;
        store_float(out, i, d[1] ? most : sum / (float)n);
    }
}

// d: n, fold, folded elements, rank of what is kept, 8 lengths, offset and 8 strides; the same of what is folded.
extern "C" __global__ void plan_reduce(const s64 *d, u64 out, u64 x) {
    s64 fold = d[1], count = d[2];
    EACH(d[0]) {
        s64 first = place_of(i, d[3], d + 4, d + 12);
        double result = fold == 2 ? -1.0 / 0.0 : fold == 3 ? 1.0 / 0.0 : fold == 4 ? 1.0 : 0.0;
        #pragma unroll 1
        for (s64 k = 0; k < count; k++) {
            double value = load_float(x, first + place_of((u64)k, d[21], d + 22, d + 30));
            if (fold == 2) {
                result = value > result ? value : result;
            } else if (fold == 3) {
                result = value < result ? value : result;
            } else if (fold == 4) {
                result *= value;
            } else {
                result += fold == 5 ? value * value : value;
            }
        }
        store_float(out, i, (float)(fold == 1 ? result / (double)count : result));
    }
}

// d: lanes, length, inner, whether the logarithm is wanted. One thread per lane, so that the result may lie over x.
extern "C" __global__ void plan_softmax(const s64 *d, u64 out, u64 x) {
    s64 length = d[1], inner = d[2];
    EACH(d[0]) {
        s64 first = (s64)i / inner * length * inner + (s64)i % inner;
        double most = -1.0 / 0.0, sum = 0.0;
        #pragma unroll 1
        for (s64 k = 0; k < length; k++) {
            double value = load_float(x, first + k * inner);
            most = value > most ? value : most;
        }
        #pragma unroll 1
        for (s64 k = 0; k < length; k++) {
            sum += exponential((double)load_float(x, first + k * inner) - most);
        }
        double log = d[3] ? logarithm(sum) : 0.0;
        #pragma unroll 1
        for (s64 k = 0; k < length; k++) {
            double own = (double)load_float(x, first + k * inner) - most;
            store_float(out, first + k * inner, (float)(d[3] ? own - log : exponential(own) / sum));
        }
    }
}

// d: rows, length, run, scales, whether the mean is taken off, epsilon, whether there is a bias. One thread per row.
extern "C" __global__ void plan_normalise(const s64 *d, u64 out, u64 x, u64 scale, u64 bias) {
    s64 length = d[1];
    EACH(d[0]) {
        s64 first = (s64)i * length;
        double mean = 0.0, variance = 0.0;
        #pragma unroll 1
        for (s64 k = 0; d[4] && k < length; k++) {
            mean += load_float(x, first + k);
        }
        mean /= (double)length;
        #pragma unroll 1
        for (s64 k = 0; k < length; k++) {
            double distance = (double)load_float(x, first + k) - mean;
            variance += distance * distance;
        }
        double factor = 1.0 / __dsqrt_rn(variance / (double)length + number_at(d[5]));
        #pragma unroll 1
        for (s64 k = 0; k < length; k++) {
            s64 at = (first + k) / d[2] % d[3];
            double result = ((double)load_float(x, first + k) - mean) * factor * load_float(scale, at);
            store_float(out, first + k, (float)(result + (d[6] ? load_float(bias, at) : 0.0f)));
        }
    }
}

// d: n, channels, inner, epsilon.
extern "C" __global__ void plan_normalise_given(const s64 *d, u64 out, u64 x, u64 scale, u64 bias, u64 mean, u64 variance) {
    EACH(d[0]) {
        s64 channel = (s64)i / d[2] % d[1];
        double factor = load_float(scale, channel) / __dsqrt_rn((double)load_float(variance, channel) + number_at(d[3]));
        store_float(out, i, (float)(((double)load_float(x, i) - load_float(mean, channel)) * factor + load_float(bias, channel)));
    }
}

// d: bytes of the output, bytes of a slice, length of the axis, indices, their type.
extern "C" __global__ void plan_gather(const s64 *d, u64 out, u64 x, u64 indices) {
    u64 slice = (u64)d[1];
    s64 length = d[2];
    EACH(d[0]) {
        s64 position = (s64)(i / slice % (u64)d[3]), round = (s64)(i / slice / (u64)d[3]);
        s64 index = load_whole(indices, position, d[4]);
        index = index < 0 ? index + length : index;
        index = index < 0 ? 0 : index >= length ? length - 1 : index;
        *(unsigned char *)(out + i) = *(const unsigned char *)(x + (u64)(round * length + index) * slice + i % slice);
    }
}

__device__ s64 class_of(u64 classes, s64 row, s64 type, s64 n) {
    s64 index = load_whole(classes, row, type);
    return index < 0 ? 0 : index >= n ? n - 1 : index;
}

// d: 1, rows, classes, type of the class.
extern "C" __global__ void plan_loss(const s64 *d, u64 out, u64 log_p, u64 classes) {
    EACH(d[0]) {
        double sum = 0.0;
        #pragma unroll 1
        for (s64 row = 0; row < d[1]; row++) {
            sum -= load_float(log_p, row * d[2] + class_of(classes, row, d[3], d[2]));
        }
        store_float(out, i, (float)(sum / (double)d[1]));
    }
}

// d: n, rows, classes, type of the class.
extern "C" __global__ void plan_loss_gradient(const s64 *d, u64 out, u64 classes) {
    EACH(d[0]) {
        s64 row = (s64)i / d[2];
        store_float(out, i, class_of(classes, row, d[3], d[2]) == (s64)i % d[2] ? -1.0f / (float)d[1] : 0.0f);
    }
}

// d: rows, length. One thread per row, so that the result may lie over the gradient.
extern "C" __global__ void plan_softmax_gradient(const s64 *d, u64 out, u64 gradient, u64 result) {
    s64 length = d[1];
    EACH(d[0]) {
        s64 first = (s64)i * length;
        double sum = 0.0;
        #pragma unroll 1
        for (s64 k = 0; k < length; k++) {
            sum += load_float(gradient, first + k);
        }
        #pragma unroll 1
        for (s64 k = 0; k < length; k++) {
            store_float(out, first + k, (float)((double)load_float(gradient, first + k) - exponential(load_float(result, first + k)) * sum));
        }
    }
}

extern "C" __global__ void plan_compare(u64 address, u64 bytes, u64 first_word, u64 other, u32 *report) {
    u64 words = (bytes + 3) / 4;
    u32 wrong = 0, first = 0xffffffffu, last = 0;
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 word = (u64)blockIdx.x * blockDim.x + threadIdx.x; word < words; word += stride) {
        u32 value = load_word(other, bytes, word, 0);
        if (load_word(address, bytes, word, 0) != value) {
            u32 position = (u32)(first_word + word);
            wrong += 1;
            first = position < first ? position : first;
            last = position > last ? position : last;
        }
    }
    report_words(wrong, first, last, report);
}

extern "C" __global__ void plan_move(u64 address, u64 bytes, u64 from) {
    u64 words = (bytes + 3) / 4;
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 word = (u64)blockIdx.x * blockDim.x + threadIdx.x; word < words; word += stride) {
        store_word(address, bytes, word, load_word(from, bytes, word, 0));
    }
}
