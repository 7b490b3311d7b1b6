package preflight

import (
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

// Clients that nodes need for volumes of other computers, as Want.StorageNeeds names them.
const (
	NFS       = "nfs"
	ISCSI     = "iscsi"
	Multipath = "multipath"
)

var storageClients = Check{
	ID: "storage-clients", Title: "Clients for the volumes of the add-ons are installed", Source: "longhorn.io: installation requirements; docs.netapp.com: prepare the worker node",
	Breaks: "Pods with such a volume stay in ContainerCreating: the node cannot mount NFS or log in to the iSCSI target.",
	Run:    judgeStorageClients, // it needs facts only if the bundle has such volumes
}

// storageClient is a client for volumes, with its package and the units of which one must be enabled.
type storageClient struct {
	name, pkg string
	units     []string
	enable    string
}

// clients lists them in the order of the report.
func clients() []storageClient {
	return []storageClient{
		{NFS, "nfs-utils", nil, ""}, // mount.nfs starts its services
		{ISCSI, "iscsi-initiator-utils", []string{"iscsid.service", "iscsid.socket"}, "systemctl enable --now iscsid"},
		{Multipath, "device-mapper-multipath", []string{"multipathd.service"}, "mpathconf --enable --with_multipathd y"},
	}
}

// judgeStorageClients never fails: the cluster works without these volumes.
func judgeStorageClients(f *facts.Facts, w *Want) Result {
	if len(w.StorageNeeds) == 0 {
		return skipped("no add-on or manifest of the bundle has a volume that needs a client")
	}
	if reasons := f.Why("packages", "units"); len(reasons) > 0 {
		return Result{Error, "unknown: " + strings.Join(reasons, "; "), "the packages of the host", "run as root; or check it yourself and pass --skip storage-clients"}
	}
	var found, packages, enable []string
	for _, c := range clients() {
		by := strings.Join(w.StorageNeeds[c.name], ", ")
		installed := slices.ContainsFunc(f.Packages, func(p facts.Package) bool { return p.Name == c.pkg })
		switch {
		case by == "":
		case !installed && !slices.Contains(w.Packages, c.pkg):
			found, packages = append(found, c.pkg+" is missing ("+by+")"), append(packages, c.pkg)
		case installed && off(f, c.units):
			found, enable = append(found, c.units[0]+" is not enabled ("+by+")"), append(enable, c.enable)
		}
	}
	if len(found) == 0 {
		return pass("installed, or in the bundle")
	}
	var fix []string
	if len(packages) > 0 {
		fix = append(fix, "add to packages.install and create the bundle again: "+strings.Join(packages, ", "))
	}
	if len(enable) > 0 {
		fix = append(fix, "run "+strings.Join(enable, " and "))
	}
	return Result{Warn, strings.Join(found, "; "), "the clients on every node that runs such pods", strings.Join(fix, "; ")}
}

// off reports whether units are known, and none of them is enabled. An older survey does not have them.
func off(f *facts.Facts, units []string) bool {
	known := false
	for _, name := range units {
		u := f.Unit(name)
		if u.Active() || u.Enabled == "enabled" {
			return false
		}
		known = known || u.Name != ""
	}
	return known
}
