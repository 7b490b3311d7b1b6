package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/preflight/facts"
)

// withVariables returns the configuration with the values of dnf's variables in the addresses of the
// repositories, from the surveyed servers. All servers must have the same value, because a bundle has one
// set of packages for all.
func withVariables(c *config.Cluster, surveyed []*facts.Facts) (*config.Cluster, error) {
	resolved := *c
	resolved.Packages.Repositories = slices.Clone(c.Packages.Repositories)
	for i, r := range resolved.Packages.Repositories {
		values := map[string]string{}
		for _, name := range r.Variables() {
			value, err := valueOf(name, c.Packages.OS, surveyed)
			if err != nil {
				return nil, advice.Usage(advice.Add(fmt.Errorf("read repository %s: $%s: %w", r.Name, name, err), "write the value instead of $%s in packages.repositories", name))
			}
			values[name] = value
		}
		with, err := r.With(values)
		if err != nil {
			return nil, advice.Usage(advice.Add(err, "write the values instead of the variables in packages.repositories"))
		}
		resolved.Packages.Repositories[i] = with
	}
	return &resolved, nil
}

// valueOf returns the value of a variable on all surveyed servers. Without surveys, only the variables are
// known that the operating system decides.
func valueOf(name, os string, surveyed []*facts.Facts) (string, error) {
	if len(surveyed) == 0 {
		value, known := assumedVariable(name, os)
		if !known {
			return "", fmt.Errorf("only the servers know its value, and no survey is given (--facts)")
		}
		return value, nil
	}
	hosts := map[string][]string{} // by value
	for _, f := range surveyed {
		value, known := variableOn(f, name, os)
		if !known {
			return "", fmt.Errorf("%s: %s", f.Host, whyUnknown(f, name))
		}
		hosts[value] = append(hosts[value], f.Host)
	}
	values := slices.Sorted(maps.Keys(hosts))
	if len(values) == 1 {
		return values[0], nil
	}
	var all []string
	for _, value := range values {
		all = append(all, fmt.Sprintf("%q on %s", value, strings.Join(hosts[value], ", ")))
	}
	return "", fmt.Errorf("the servers have different values: %s", strings.Join(all, "; "))
}

// whyUnknown is the reason why a survey does not have a variable.
func whyUnknown(f *facts.Facts, name string) string {
	switch reason := facts.WhyVariable(f, name); {
	case reason != "":
		return reason
	case len(f.NotSurveyed(facts.DNFVariablesFact)) > 0:
		return "its survey is of an older airgap, which does not read /etc/dnf/vars"
	}
	return "/etc/dnf/vars does not have this variable"
}

// assumedVariable returns the variables that are the same on all servers of an operating system.
func assumedVariable(name, os string) (value string, known bool) {
	switch name {
	case "basearch", "arch":
		return "x86_64", true
	case "releasever", "releasever_major":
		return enterprise.Of(os).Major(), true
	}
	return "", false
}

// variableOn returns a variable on a server: from /etc/dnf/vars, else as dnf finds it.
func variableOn(f *facts.Facts, name, os string) (value string, known bool) {
	if value, known := f.DNFVariables[name]; known {
		return value, true
	}
	if name == "releasever" {
		for _, p := range f.Packages {
			for _, provided := range p.Provides {
				if provided.Name == "system-release(releasever)" && provided.Version != "" {
					return provided.Version, true
				}
			}
		}
	}
	return assumedVariable(name, os)
}
