package result

import "slices"

// Differing returns the hosts that differ from the wanted value, or, without one, from the most
// frequent value. If there is none, it returns all hosts.
func Differing(said map[string]string, wanted string) (odd []string, want string) {
	if want = wanted; want == "" {
		want = mostFrequent(said)
	}
	for host, s := range said {
		if s != want {
			odd = append(odd, host)
		}
	}
	if slices.Sort(odd); want == "" {
		want = "the same on every host"
	}
	return odd, want
}

// mostFrequent returns the most frequent value, or "" if two are equally frequent.
func mostFrequent(said map[string]string) string {
	count := map[string]int{}
	for _, s := range said {
		count[s]++
	}
	most, tie := "", false
	for s, n := range count {
		switch {
		case n > count[most]:
			most, tie = s, false
		case n == count[most]:
			tie = true
		}
	}
	if tie {
		return ""
	}
	return most
}
