package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/sysctld"
)

const linksDir = "/proc/sys/net/ipv4/conf"

// linkKeys are the keys of the forwarding of all interfaces. Only the present ones have a directory.
func linkKeys(m host.Machine) ([]string, error) {
	entries, err := os.ReadDir(m.Path(linksDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var keys []string
	for _, e := range entries {
		if name := e.Name(); name != "all" && name != "default" && name != "lo" {
			keys = append(keys, sysctld.Name("net/ipv4/conf/"+name+"/forwarding"))
		}
	}
	return keys, err
}

// linksOff are the keys of the interfaces that do not forward, without those that a line of the site
// names: the site keeps this interface out.
func linksOff(m host.Machine) ([]string, error) {
	keys, err := linkKeys(m)
	if err != nil {
		return nil, err
	}
	boot, err := sysctld.Read(os.DirFS(m.Path("/")))
	if err != nil {
		return nil, err
	}
	var off []string
	for _, key := range keys {
		have, err := readSysctl(m, key)
		if host.IgnoreMissing(err) != nil {
			return nil, err
		}
		if err == nil && have == 0 && !named(boot, key) {
			off = append(off, key)
		}
	}
	return off, nil
}

// named reports whether a line sets the parameter itself, and not through a glob or another
// parameter.
func named(boot *sysctld.Boot, key string) bool {
	set, is := boot.Of(key)
	return is && sysctld.Path(set.Key) == sysctld.Path(key)
}

// switchLinksOn switches forwarding on for interfaces on which it was off before the kernel's
// forwarding was switched on.
func switchLinksOn(m host.Machine) error {
	off, err := linksOff(m)
	if err != nil {
		return err
	}
	want := map[string]int{}
	for _, key := range off {
		want[key] = 1
	}
	return writeSysctls(m, want, off...)
}

// addLinks adds the interfaces whose forwarding differs from the kernel's forwarding: the undo of
// that parameter does not restore them.
func addLinks(m host.Machine, before map[string]int) error {
	keys, err := linkKeys(m)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if have, err := readSysctl(m, key); err == nil && have != before[forwardingKey] {
			before[key] = have
		}
	}
	return nil
}

// planLinks lists the interfaces that do not forward although the kernel does. If it does not, it
// switches all of them on.
func planLinks(m host.Machine) ([]string, error) {
	if forwards, err := readSysctl(m, forwardingKey); err != nil || forwards == 0 {
		return nil, err
	}
	off, err := linksOff(m)
	var changes []string
	for _, key := range off {
		changes = append(changes, fmt.Sprintf("%s 0 → 1", key))
	}
	return changes, err
}
