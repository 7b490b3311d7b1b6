package nevra

import (
	"cmp"
	"strings"
)

// compareWords compares two versions or two releases as rpmvercmp does: by segments of
// letters, of digits, and the separators ~ and ^. The solver compares versions by the
// million, so nothing is copied. The tests compare it with go-rpm-version.
func compareWords(a, b string) int {
	if a == b {
		return 0
	}
	for {
		var x, y string
		x, a = segment(a)
		y, b = segment(b)
		switch {
		case x == "" && y == "":
			return 0
		case x == "" || y == "":
			return rest(x, y)
		}
		if c := compareSegments(x, y); c != 0 {
			return c
		}
	}
}

// rest compares when only one version has another segment: more is newer, except after a tilde.
func rest(x, y string) int {
	switch {
	case strings.HasPrefix(x, "~"):
		return -1
	case strings.HasPrefix(y, "~"):
		return 1
	}
	return cmp.Compare(len(x), len(y))
}

func compareSegments(x, y string) int {
	for _, separator := range []byte("~^") {
		if x[0] == separator || y[0] == separator {
			switch {
			case x[0] != separator:
				return 1
			case y[0] != separator:
				return -1
			}
		}
	}
	switch { // numbers are newer than letters
	case digit(x[0]) && !digit(y[0]):
		return 1
	case digit(y[0]) && !digit(x[0]):
		return -1
	}
	if digit(x[0]) {
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if len(x) != len(y) {
			return cmp.Compare(len(x), len(y))
		}
	}
	return strings.Compare(x, y)
}

// segment returns the first segment, and the rest after it.
func segment(s string) (first, rest string) {
	start := 0
	for start < len(s) && !digit(s[start]) && !alpha(s[start]) && s[start] != '~' && s[start] != '^' {
		start++
	}
	if start == len(s) {
		return "", ""
	}
	end := start + 1
	switch {
	case digit(s[start]):
		for end < len(s) && digit(s[end]) {
			end++
		}
	case alpha(s[start]):
		for end < len(s) && alpha(s[end]) {
			end++
		}
	}
	return s[start:end], s[end:]
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
func alpha(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
