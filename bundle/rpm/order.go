package rpm

import (
	"cmp"
	"strings"
)

// better compares by requested name, by name, by version (newest first), and by
// architecture (noarch last).
func better(a, b *entry, name string) int {
	return cmp.Or(
		-compareBool(a.Name == name, b.Name == name),
		strings.Compare(a.Name, b.Name),
		newer(a, b),
	)
}

func newer(a, b *entry) int {
	return cmp.Or(b.Compare(a.EVR), compareBool(a.Arch == "noarch", b.Arch == "noarch"))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
