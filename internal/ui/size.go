package ui

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Size writes bytes for people, in powers of 1000 as sticks are sold:
// 999 B, 1.2 kB, 3.4 MB, 5.6 GB.
func Size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), "B"
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// SizePattern is the form of the sizes that ParseSize reads: 4095MiB, 20 GB,
// 1.5Ti, plain bytes.
const SizePattern = `^([0-9]+(?:\.[0-9]+)?) ?(?:([kKMGT])(i?))?B?$`

var sizePattern = regexp.MustCompile(SizePattern)

// ParseSize reads a size in bytes: in powers of 1000, or of 1024 with an i. Other text, and
// a size above the range of int64, is an error.
func ParseSize(text string) (int64, error) {
	m := sizePattern.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%q: want a size such as 20GB or 512MiB", text)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, err
	}
	base := 1000.0
	if m[3] == "i" {
		base = 1024
	}
	power := strings.Index(" KMGT", strings.ToUpper(m[2])) // of "" it is 0
	if n *= math.Pow(base, float64(power)); n >= math.MaxInt64 {
		return 0, fmt.Errorf("%q: larger than any disk", text)
	}
	return int64(n), nil
}
