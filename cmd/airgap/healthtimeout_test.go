package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// TestHealthTimeout: --timeout has a default, accepts other values, and refuses a value that is not
// longer than the soak window.
func TestHealthTimeout(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want time.Duration
		err  string
	}{
		{nil, 10 * time.Minute, ""},
		{[]string{"--timeout", "25m"}, 25 * time.Minute, ""},
		{[]string{"--timeout=0"}, 0, `invalid argument "0" for "--timeout" flag: expected more than 5s, the soak window of airgap verify`},
		{[]string{"--timeout", "-3m"}, 0, "expected more than 5s"},
		{[]string{"--timeout", "25"}, 0, "missing unit in duration"},
	} {
		var timeout time.Duration
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		healthTimeoutFlag(flags, &timeout, "how long")
		err := flags.Parse(tc.args)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%q: got %v, want %s", tc.args, err, tc.err)
			}
			continue
		}
		if err != nil || timeout != tc.want {
			t.Errorf("%q: got %s, %v, want %s", tc.args, timeout, err, tc.want)
		}
	}
}

// TestHealthTimeoutOfCommands: each command that waits for a healthy cluster has the flag.
func TestHealthTimeoutOfCommands(t *testing.T) {
	a := &app{}
	for _, cmd := range []interface{ Flags() *pflag.FlagSet }{installCommand(a), restoreCommand(a), upgradeCommand(a), rollbackCommand(a)} {
		if f := cmd.Flags().Lookup("timeout"); f == nil || f.DefValue != "10m0s" || f.Value.Type() != "duration" {
			t.Errorf("%+v", f)
		}
	}
}
