package packetfilter

import (
	"errors"
	"os/exec"
)

// Kernel reads the rules in the kernel, by the output of a command. It needs root. A host without nft
// has iptables-save, which creates no table. A host without both has no rules.
func Kernel(output func(name string, args ...string) (string, error)) (*Set, error) {
	set := New()
	text, err := output("nft", "--stateless", "list", "ruleset")
	if err == nil {
		set.NFT("", text)
		return set, nil
	}
	if !errors.Is(err, exec.ErrNotFound) {
		return nil, err
	}
	text, err = output("iptables-save")
	if errors.Is(err, exec.ErrNotFound) {
		return set, nil
	}
	set.Iptables("", "ip", text)
	return set, err
}
