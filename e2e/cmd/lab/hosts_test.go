package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// With --hosts, the command refuses a scenario that needs the lab, before it reads the
// file of hosts.
func TestRunOnHostsRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none.yaml")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--hosts", file, "journey", "ha"}, "scenario ha runs in the lab only: it cuts the servers' power"},
		{[]string{"run", "--hosts", file, "jurney"}, `unknown scenario "jurney"; choose from journey`},
		{[]string{"run", "--hosts", file, "journey"}, "read the hosts in " + file},
		{[]string{"run", "--hosts", file}, "read the hosts in " + file},
		{[]string{"down", "--hosts", file}, "read the hosts in " + file},
	} {
		cmd := command()
		var out bytes.Buffer
		cmd.SetArgs(tc.args)
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: got %v, want %s", tc.args, err, tc.want)
		}
	}
}
