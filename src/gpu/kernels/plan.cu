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
