package preflight

import (
	"testing"

	"airgap.dev/airgap/preflight/facts"
)

func TestStorageClients(t *testing.T) {
	host := func(packages string, units ...facts.Unit) *facts.Facts {
		return &facts.Facts{Packages: []facts.Package{{Name: packages}}, Units: units}
	}
	needs := func(client string) Want {
		return Want{StorageNeeds: map[string][]string{client: {"add-on a: StorageClass s"}}}
	}
	bundled := needs(ISCSI)
	bundled.Packages = []string{"iscsi-initiator-utils"}
	both := Want{StorageNeeds: map[string][]string{NFS: {"x"}, ISCSI: {"y"}}}
	unit := func(name, state, enabled string) facts.Unit {
		return facts.Unit{Name: name, State: state, Enabled: enabled}
	}
	runChecks(t, []checkTest{
		{"no volumes", storageClients, host("bash"), Want{}, Skip, "no add-on or manifest"},
		{"no NFS client", storageClients, host("bash"), needs(NFS), Warn, "nfs-utils is missing (add-on a: StorageClass s)"},
		{"an NFS client", storageClients, host("nfs-utils"), needs(NFS), Pass, "installed"},
		{"a package with a longer name", storageClients, host("nfs-utils-coreos"), needs(NFS), Warn, "nfs-utils is missing"},
		{"iSCSI in the bundle", storageClients, host("bash"), bundled, Pass, "in the bundle"},
		{"iscsid starts on demand", storageClients, host("iscsi-initiator-utils", unit("iscsid.socket", "active", "enabled")), needs(ISCSI), Pass, "installed"},
		{"iscsid runs", storageClients, host("iscsi-initiator-utils", unit("iscsid.service", "active", "disabled")), needs(ISCSI), Pass, "installed"},
		{"iscsid is off", storageClients, host("iscsi-initiator-utils", unit("iscsid.service", "inactive", "masked"), unit("iscsid.socket", "inactive", "disabled")), needs(ISCSI), Warn,
			"iscsid.service is not enabled"},
		{"an older survey", storageClients, host("iscsi-initiator-utils"), needs(ISCSI), Pass, "installed"},
		{"multipath is not set up", storageClients, host("device-mapper-multipath", unit("multipathd.service", "inactive", "disabled")), needs(Multipath), Warn, "multipathd.service is not enabled"},
		{"two clients", storageClients, host("bash"), both, Warn, "nfs-utils is missing (x); iscsi-initiator-utils is missing (y)"},
		{"unread packages", storageClients, &facts.Facts{Unknown: []facts.Unknown{{Fact: "packages", Reason: "rpm: locked"}}}, needs(NFS), Error, "rpm: locked"},
		{"unread packages, no volumes", storageClients, &facts.Facts{Unknown: []facts.Unknown{{Fact: "packages", Reason: "rpm: locked"}}}, Want{}, Skip, "no add-on"},
		{"no NFS on a recorded host", storageClients, gather(t, "rocky9"), both, Warn, "nfs-utils is missing (x); iscsi-initiator-utils is missing (y)"},
	})
}
