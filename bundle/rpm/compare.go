package rpm

import (
	"slices"
	"strings"

	"airgap.dev/airgap/internal/nevra"
)

// compare says how the solver's record differs from installing just missing, each in
// the place of another build that is our own, if there is one.
// A line is "install B@REPOSITORY", "erase A@@System", "upgrade A@@System
// B@REPOSITORY", "problem …" and the like, A and B being NAME-EVR.ARCH.
func compare(lines []string, missing, own []nevra.NEVRA) []string {
	var differences []string
	open := map[string]bool{}
	for _, p := range missing {
		open[p.String()] = true
	}
	if said := objections(lines); len(said) > 0 {
		return said
	}
	for _, line := range lines {
		verb, packages, _ := strings.Cut(line, " ")
		to := packages[strings.LastIndexByte(packages, ' ')+1:]
		name, from, _ := strings.Cut(to, "@")
		p, err := nevra.Parse(name)
		ours := err == nil && from == repositoryID && open[p.String()]
		if ours {
			delete(open, p.String())
		}
		if !ours || verb != "install" && !replaces(own, packages, p) {
			differences = append(differences, "would "+sentence(line))
		}
	}
	for _, p := range missing {
		if open[p.String()] {
			differences = append(differences, "would not install "+p.String())
		}
	}
	return differences
}

// replaces reports whether the packages of a line, "A@@System B@REPOSITORY", are one of
// our own and p in its place.
func replaces(own []nevra.NEVRA, packages string, p nevra.NEVRA) bool {
	old, _, found := strings.Cut(packages, "@@System ")
	n, err := nevra.Parse(old)
	return found && err == nil && slices.Contains(own, n) && n.ReplacedBy(p)
}

// objections are what the solver says stands in the way, in its own words and
// each once: "problem ID info nothing provides x needed by y". Its proposals
// to leave packages out are not for us.
func objections(lines []string) []string {
	var said []string
	for _, line := range lines {
		words := strings.SplitN(line, " ", 4)
		if len(words) == 4 && words[0] == "problem" && words[2] == "info" {
			said = append(said, "says: "+sentence(words[3]))
		}
	}
	slices.Sort(said)
	return slices.Compact(said)
}

func sentence(line string) string {
	line = strings.ReplaceAll(line, "@@System", " (installed)")
	return strings.ReplaceAll(line, "@"+repositoryID, "")
}
