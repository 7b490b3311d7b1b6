package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"airgap.dev/airgap/verify"
)

// healthTimeout is the value of --timeout: the maximum time that a command waits for a healthy
// cluster after a change.
type healthTimeout time.Duration

// defaultHealthTimeout is long enough to unpack images and start pods on a slow disk.
const defaultHealthTimeout = 10 * time.Minute

// healthTimeoutFlag adds --timeout with the usage text.
func healthTimeoutFlag(flags *pflag.FlagSet, t *time.Duration, usage string) {
	*t = defaultHealthTimeout
	flags.Var((*healthTimeout)(t), "timeout", usage)
}

// Set requires more than the soak window.
func (t *healthTimeout) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	if d <= verify.DefaultSoak {
		return fmt.Errorf("expected more than %s, the soak window of airgap verify", verify.DefaultSoak)
	}
	*t = healthTimeout(d)
	return nil
}

func (t *healthTimeout) String() string { return time.Duration(*t).String() }

// Type is the name of the type in help texts.
func (*healthTimeout) Type() string { return "duration" }
