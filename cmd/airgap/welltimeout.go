package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"airgap.dev/airgap/verify"
)

// wellTimeout is how long a command that changes the cluster waits for it to be well
// then, the value of its --timeout.
type wellTimeout time.Duration

// usualWellTimeout is for images to be unpacked and pods to start on a slow disk.
const usualWellTimeout = 10 * time.Minute

// wellTimeoutFlag declares --timeout, which says what it waits for.
func wellTimeoutFlag(flags *pflag.FlagSet, t *time.Duration, what string) {
	*t = usualWellTimeout
	flags.Var((*wellTimeout)(t), "timeout", what)
}

// Set takes a time in which the cluster can also have been well for long enough.
func (t *wellTimeout) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	if d <= verify.DefaultSoak {
		return fmt.Errorf("want more than %s, for which everything has to hold", verify.DefaultSoak)
	}
	*t = wellTimeout(d)
	return nil
}

func (t *wellTimeout) String() string { return time.Duration(*t).String() }

// Type is how help and pages call such values.
func (*wellTimeout) Type() string { return "duration" }
