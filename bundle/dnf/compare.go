package dnf

import (
	"slices"
	"strings"

	"airgap.dev/airgap/internal/nevra"
)

// compare returns the differences between the solver's record and a transaction that
// installs exactly missing. A package may replace another build that is in own.
// A line is "install B@REPOSITORY", "erase A@@System", "upgrade A@@System
// B@REPOSITORY", "problem …" and so on. A and B are NAME-EVR.ARCH.
func compare(lines []string, missing, own []nevra.NEVRA) []string {
	var differences []string
	open := map[string]bool{}
	for _, p := range missing {
		open[p.String()] = true
	}
	if problems := solverProblems(lines); len(problems) > 0 {
		return problems
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

// replaces reports whether p replaces a package of own in the packages of a line,
// "A@@System B@REPOSITORY".
func replaces(own []nevra.NEVRA, packages string, p nevra.NEVRA) bool {
	old, _, found := strings.Cut(packages, "@@System ")
	n, err := nevra.Parse(old)
	return found && err == nil && slices.Contains(own, n) && n.ReplacedBy(p)
}

// solverProblems returns the problems that the solver reports, without duplicates:
// "problem ID info nothing provides x needed by y". It omits the solver's proposals
// to skip packages.
func solverProblems(lines []string) []string {
	var problems []string
	for _, line := range lines {
		words := strings.SplitN(line, " ", 4)
		if len(words) == 4 && words[0] == "problem" && words[2] == "info" {
			problems = append(problems, "reports: "+sentence(words[3]))
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}

func sentence(line string) string {
	line = strings.ReplaceAll(line, "@@System", " (installed)")
	return strings.ReplaceAll(line, "@"+repositoryID, "")
}
