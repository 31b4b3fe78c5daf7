package export

import "strconv"

// errnoNames has the errors of open(2). Linux numbers them alike on amd64 and arm64; this machine may
// be another system, so its own names won't do.
var errnoNames = map[int64]string{
	1: "EPERM", 2: "ENOENT", 4: "EINTR", 5: "EIO", 6: "ENXIO", 7: "E2BIG", 9: "EBADF", 11: "EAGAIN", 12: "ENOMEM",
	13: "EACCES", 14: "EFAULT", 16: "EBUSY", 17: "EEXIST", 18: "EXDEV", 19: "ENODEV", 20: "ENOTDIR", 21: "EISDIR",
	22: "EINVAL", 23: "ENFILE", 24: "EMFILE", 26: "ETXTBSY", 27: "EFBIG", 28: "ENOSPC", 30: "EROFS",
	36: "ENAMETOOLONG", 40: "ELOOP", 75: "EOVERFLOW", 95: "EOPNOTSUPP", 116: "ESTALE", 122: "EDQUOT",
}

// errnoName names an error, by its number if it is none of open's.
func errnoName(errno int64) string {
	if name := errnoNames[errno]; name != "" {
		return name
	}
	return "errno " + strconv.FormatInt(errno, 10)
}
