package main

import (
	"os"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/cluster/site"
)

// onInstalledHosts are the commands that require an installed host, with arguments that reach the check.
func onInstalledHosts() map[string]string {
	sum := "sha256:" + strings.Repeat("0", 64)
	return map[string]string{
		"airgap backup":                   "",
		"airgap certs":                    "",
		"airgap certs renew":              "",
		"airgap certs rotate-ca":          "--only etcd",
		"airgap compliance":               "",
		"airgap encryption rotate":        "",
		"airgap registry garbage-collect": "",
		"airgap registry passwd":          "ci",
		"airgap registry prune":           "",
		"airgap registry renew":           "",
		"airgap registry serve":           "",
		"airgap registry status":          "",
		"airgap remove":                   "w1 --yes",
		"airgap report run":               "",
		"airgap rollback":                 "--yes",
		"airgap upgrade":                  "bank",
		"airgap upgrade node":             "127.0.0.1:5000 --ca-hash " + sum,
		"airgap verify":                   "",
	}
}

// anyHost are the commands that work, or explain the state, on a host without an installation.
func anyHost() string {
	return " bundle, config, config import, config show, docs, encryption, export, export rpm, gpu, gpu status, inspect, install, join, netprobe, netprobe client, netprobe join, netprobe listen," +
		" netprobe page, pack, preflight, push, registry, registry import, report, reset, restore, schema, sign, status, support-bundle, survey, survey check, unpack,"
}

// TestBareHost: on a host where airgap has installed nothing, each command that requires an installation
// reports this, and no missing key or file.
func TestBareHost(t *testing.T) {
	for _, path := range []string{site.StateDir, site.PKIDir} {
		if site.Exists(path) {
			t.Skipf("this host has %s", path)
		}
	}
	lines := []string{"registry status --receipt receipt", "registry import --from 127.0.0.1:5000", "join --new-token", "join --new-token --all-missing"}
	for command, args := range onInstalledHosts() {
		if command != "airgap certs" || os.Geteuid() == 0 { // only root can look for certificates
			lines = append(lines, strings.TrimPrefix(command, "airgap ")+" "+args)
		}
	}
	for _, line := range lines {
		var out, errs strings.Builder
		code := run(t.Context(), strings.Fields(line), strings.NewReader(""), &out, &errs)
		if code != 1 || !strings.Contains(errs.String(), "airgap is not installed on this host") || !strings.Contains(errs.String(), "hint: run airgap ") {
			t.Errorf("airgap %s: %d\n%s%s", line, code, &out, &errs)
		}
	}
}

// TestBareHostListsCommands: each command is in one of the lists.
func TestBareHostListsCommands(t *testing.T) {
	for _, cmd := range program.Documented(rootCommand(&app{})) {
		name := cmd.CommandPath()
		_, requires := onInstalledHosts()[name]
		anywhere := name == "airgap" || strings.Contains(anyHost(), " "+strings.TrimPrefix(name, "airgap ")+",")
		if requires == anywhere {
			t.Errorf("%s: add it to onInstalledHosts with a call of site.MustBeInstalled, or to anyHost", name)
		}
	}
}
