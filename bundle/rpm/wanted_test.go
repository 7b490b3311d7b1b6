package rpm

import (
	"slices"
	"testing"
)

// TestWanted: a wanted package comes where it has a solution, and is no problem where it has none.
func TestWanted(t *testing.T) {
	app, lock := pkg{nevra: "app-1-1.x86_64"}, pkg{nevra: "lock-1-1.noarch"}
	old := present("core", "1")
	for name, tc := range map[string]struct {
		packages  []pkg
		installed []Installed
		want      string
		without   []string
	}{
		"in a repository":              {[]pkg{app, lock}, withBash(), "app-1<packages.install lock-1<airgap", nil},
		"in no repository":             {[]pkg{app}, withBash(), "app-1<packages.install", []string{"db1"}},
		"in no repository, no survey":  {[]pkg{app}, nil, "app-1<packages.install", []string{"every server"}},
		"installed":                    {[]pkg{app}, withBash(present("lock", "1")), "app-1<packages.install", nil},
		"it conflicts on this server":  {[]pkg{app, {nevra: "lock-1-1.noarch", conflicts: []string{"core"}}}, withBash(old), "app-1<packages.install", []string{"db1"}},
		"its requirement is not there": {[]pkg{app, {nevra: "lock-1-1.noarch", requires: []string{"core = 2"}}}, withBash(old), "app-1<packages.install", []string{"db1"}},
	} {
		t.Run(name, func(t *testing.T) {
			closure := wantPlan(t, tc.packages, Request{Install: []string{"app"}, Wanted: []string{"lock"}, Hosts: tc.installed}, tc.want, nil)
			if closure != nil && !slices.Equal(closure.Without, tc.without) {
				t.Errorf("without it: %q, want %q", closure.Without, tc.without)
			}
		})
	}
}
