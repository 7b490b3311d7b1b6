package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// settings are kernel settings for servers that share the outer machine's kernel: those that
// the kubelet requires, and enough inotify instances and keys for all servers. An installer
// on a server may set them, too.
var settings = map[string]string{
	"vm/overcommit_memory":           "1",
	"vm/panic_on_oom":                "0",
	"kernel/panic":                   "10",
	"kernel/panic_on_oops":           "1",
	"fs/inotify/max_user_instances":  "8192",
	"fs/inotify/max_user_watches":    "524288",
	"kernel/keys/root_maxkeys":       "1000000",
	"kernel/keys/root_maxbytes":      "25000000",
	"net/netfilter/nf_conntrack_max": "262144",
}

// applySettings changes the settings and saves the previous values in file. If the file
// exists, another lab has changed them, and the file contains the original values.
func applySettings(file string) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	before := map[string]string{}
	for key := range settings {
		value, err := os.ReadFile(sysctlPath(key))
		if errors.Is(err, os.ErrNotExist) {
			continue // this kernel does not have it
		}
		if err != nil {
			return err
		}
		before[key] = strings.TrimSpace(string(value))
	}
	data, err := json.MarshalIndent(before, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return err
	}
	for key := range before {
		if err := os.WriteFile(sysctlPath(key), []byte(settings[key]), 0o644); err != nil {
			return fmt.Errorf("set %s: %w", key, err)
		}
	}
	return nil
}

// restoreSettings restores the values that applySettings saved.
func restoreSettings(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var before map[string]string
	if err := json.Unmarshal(data, &before); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	for key, value := range before {
		if err := os.WriteFile(sysctlPath(key), []byte(value), 0o644); err != nil {
			return fmt.Errorf("restore %s: %w", key, err)
		}
	}
	return os.Remove(file)
}

func sysctlPath(key string) string { return filepath.Join("/proc/sys", key) }
