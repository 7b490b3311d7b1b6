package rpm

import (
	"cmp"
	"context"
	"slices"
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

// sortStable is slices.SortStableFunc, but the end of the context ends it: the order is then undefined.
func sortStable[T any](ctx context.Context, list []T, compare func(a, b T) int) {
	const few = 1000
	if ctx.Err() != nil {
		return
	}
	if len(list) <= few {
		slices.SortStableFunc(list, compare)
		return
	}
	a, b := list[:len(list)/2], list[len(list)/2:]
	sortStable(ctx, a, compare)
	sortStable(ctx, b, compare)
	merged := make([]T, 0, len(list))
	for len(a) > 0 && len(b) > 0 {
		if len(merged)%few == 0 && ctx.Err() != nil {
			return
		}
		if compare(a[0], b[0]) <= 0 {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	copy(list, append(append(merged, a...), b...))
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
