package rpm

// Colors of rpm: packages of the same name replace each other only if they have a color
// in common.
const (
	color32 = 1 << iota
	color64
	everyColor = color32 | color64
)

// colorOf returns the color of an architecture. noarch, and the unknown architecture of a
// profile's packages, have every color.
func colorOf(arch string) int {
	switch arch {
	case "i386", "i486", "i586", "i686", "athlon", "armv7hl", "ppc", "s390":
		return color32
	case "x86_64", "amd64", "x86_64_v2", "x86_64_v3", "x86_64_v4", "aarch64", "ppc64", "ppc64le", "s390x":
		return color64
	}
	return everyColor
}

// SameColor reports whether packages of one name and these architectures replace each
// other: lib.x86_64 is installed next to lib.i686.
func SameColor(a, b string) bool { return colorOf(a)&colorOf(b) != 0 }
