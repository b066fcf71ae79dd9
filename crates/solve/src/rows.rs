//! Gather and scatter of rows of right-hand sides that stand row by row.

use tamarack_numeric::Value;

/// Runs a body with the stride as a constant where it is a usual one.
macro_rules! with_stride {
    ($stride:expr, $body:ident($($arg:expr),*)) => {
        match $stride {
            1 => $body::<T, 1>($($arg,)* 1),
            4 => $body::<T, 4>($($arg,)* 4),
            8 => $body::<T, 8>($($arg,)* 8),
            16 => $body::<T, 16>($($arg,)* 16),
            stride => $body::<T, 0>($($arg,)* stride),
        }
    };
}

/// The first `count` rows of `to` = those of `from`.
///
/// Rows of one number go one by one, as they were written just before: see `one_by_one` of the kernels.
///
/// # Safety
/// Both are valid for those rows of `stride` numbers and do not overlap; nobody else uses those of `to`.
pub(crate) unsafe fn copy<T: Value>(to: *mut T, from: *const T, count: usize, stride: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        if stride == 1 {
            for i in 0..count {
                *to.add(i) = from.add(i).read_volatile();
            }
        } else {
            to.copy_from_nonoverlapping(from, count * stride);
        }
    }
}

/// The first `count` numbers of `to` += those of `from`.
///
/// # Safety
/// Both are valid for so many and do not overlap; nobody else uses those of `to`.
pub(crate) unsafe fn add<T: Value>(to: *mut T, from: *const T, count: usize) {
    for i in 0..count {
        // SAFETY: the caller's contract.
        unsafe { *to.add(i) += *from.add(i) };
    }
}

/// Row `rows[i]` of `x` += row i of `from`, for all i.
///
/// # Safety
/// Both are valid for those rows of `stride` numbers and do not overlap; nobody else uses those of x.
pub(crate) unsafe fn scatter_add<T: Value>(x: *mut T, rows: &[u32], from: *const T, stride: usize) {
    // SAFETY: the caller's contract.
    unsafe { with_stride!(stride, scatter_add_by(x, rows, from)) }
}

#[inline(always)]
unsafe fn scatter_add_by<T: Value, const S: usize>(
    x: *mut T,
    rows: &[u32],
    from: *const T,
    stride: usize,
) {
    let stride = if S == 0 { stride } else { S };
    for (i, &row) in rows.iter().enumerate() {
        // SAFETY: the caller's contract.
        unsafe {
            let (to, from) = (x.add(row as usize * stride), from.add(i * stride));
            for r in 0..stride {
                *to.add(r) += *from.add(r);
            }
        }
    }
}

/// Row i of `to` = row `rows[i]` of `x`, for all i.
///
/// # Safety
/// As [`scatter_add`], with `to` written and x read.
pub(crate) unsafe fn gather<T: Value>(to: *mut T, x: *const T, rows: &[u32], stride: usize) {
    // SAFETY: the caller's contract.
    unsafe { with_stride!(stride, gather_by(to, x, rows)) }
}

#[inline(always)]
unsafe fn gather_by<T: Value, const S: usize>(
    to: *mut T,
    x: *const T,
    rows: &[u32],
    stride: usize,
) {
    let stride = if S == 0 { stride } else { S };
    for (i, &row) in rows.iter().enumerate() {
        // SAFETY: the caller's contract.
        unsafe {
            let (to, from) = (to.add(i * stride), x.add(row as usize * stride));
            for r in 0..stride {
                *to.add(r) = *from.add(r);
            }
        }
    }
}
