package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/internal/config/configtest"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/preflight/facts"
)

// TestStorageNeeds: objects of an add-on that need a client of the node, and objects that look like it.
func TestStorageNeeds(t *testing.T) {
	class := func(driver, parameters string) string {
		return "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: s}\nprovisioner: " + driver + "\nparameters: {" + parameters + "}\n"
	}
	volume := func(spec string) string {
		return "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\nspec: {capacity: {storage: 1Gi}, " + spec + "}\n"
	}
	pods := func(kind, image, volumes string) string {
		return "apiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: p}\nspec: {template: {spec: {containers: [{name: c, image: '" + image + "'}], volumes: [" + volumes + "]}}}\n"
	}
	const job = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: j}\nspec: {jobTemplate: {spec: {template: {spec: {volumes: [{name: b, nfs: {server: nas, path: /b}}]}}}}}\n"
	for name, test := range map[string]struct {
		objects string
		want    []string // the clients
	}{
		"an NFS volume":              {volume("nfs: {server: nas, path: /x}"), []string{"nfs"}},
		"an iSCSI volume":            {volume("iscsi: {targetPortal: san, iqn: i, lun: 0}"), []string{"iscsi"}},
		"a volume of a driver":       {volume("csi: {driver: driver.longhorn.io, volumeHandle: h}"), []string{"nfs", "iscsi"}},
		"a local volume":             {volume("local: {path: /nfs}"), nil},
		"pods with NFS":              {pods("Deployment", "x/y:1", "{name: a, emptyDir: {}}, {name: n, nfs: {server: nas, path: /x}}"), []string{"nfs"}},
		"a CronJob with NFS":         {job, []string{"nfs"}},
		"pods with a volume nfs":     {pods("Deployment", "x/y:1", "{name: nfs, emptyDir: {}}"), nil},
		"an inline volume":           {pods("DaemonSet", "x/y:1", "{name: c, csi: {driver: org.democratic-csi.iscsi}}"), []string{"iscsi"}},
		"Longhorn's manager":         {pods("DaemonSet", "harbor.corp/longhornio/longhorn-manager:v1.11.1", ""), []string{"nfs", "iscsi"}},
		"another manager":            {pods("DaemonSet", "x/not-longhornio/longhorn-manager-x:1", ""), nil},
		"Trident with NAS":           {class("csi.trident.netapp.io", "backendType: ontap-nas"), []string{"nfs"}},
		"Trident with SAN":           {class("csi.trident.netapp.io", "backendType: ontap-san"), []string{"iscsi", "multipath"}},
		"Trident":                    {"apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: csi.trident.netapp.io}\nspec: {}\n", []string{"nfs", "iscsi", "multipath"}},
		"a provisioner for NFS":      {class("cluster.local/nfs-subdir-external-provisioner", ""), []string{"nfs"}},
		"a client in the image":      {class("nfs.csi.k8s.io", ""), nil},
		"Ceph's, with its namespace": {class("rook-ceph.nfs.csi.ceph.com", ""), nil},
		"a local provisioner":        {class("rancher.io/local-path", ""), nil},
		"a class of another group":   {"apiVersion: example.com/v1\nkind: StorageClass\nmetadata: {name: s}\nprovisioner: nfs\n", nil},
		"odd types":                  {"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\nspec: [nfs]\n", nil},
		"odd volumes":                {"apiVersion: example.com/v1\nkind: A\nmetadata: {name: v}\nspec: {volumes: [1, {nfs: yes, csi: {driver: [1]}}, {nfs: [a]}]}\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := workload.Parse("a.yaml", []byte(test.objects))
			require.NoError(t, err)
			var got []string
			for client, by := range storageNeeds([]operators.Set{{Of: "add-on a", Namespace: "a", Objects: objects}}) {
				got = append(got, client)
				assert.Len(t, by, 1)
				assert.Contains(t, by[0], "add-on a: ")
			}
			assert.ElementsMatch(t, test.want, got)
		})
	}
}

// TestMissingClients: the bundle warns of a client that neither a server nor the bundle has.
func TestMissingClients(t *testing.T) {
	c := configtest.On(t, "el9", k8s)
	lock := bundle.Lock{Storage: map[string][]string{"nfs": {"add-on a: PersistentVolume v"}}}
	with := &facts.Facts{Host: "db1", Packages: []facts.Package{{Name: "nfs-utils"}}}
	without := &facts.Facts{Host: "db2"}
	found, err := missingClients(c, []*facts.Facts{with, without}, lock)
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Contains(t, found[0].String(), "db2: storage-clients: nfs-utils is missing (add-on a: PersistentVolume v)")
	assert.Contains(t, found[0].String(), "add to packages.install and create the bundle again: nfs-utils")
	assert.False(t, found[0].fatal)

	found, err = missingClients(c, nil, lock)
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Contains(t, found[0].of, "assumed")

	lock.Packages = []bundle.Package{{NEVRA: nevra.Text{NEVRA: nevra.NEVRA{Name: "nfs-utils"}}}}
	found, err = missingClients(c, []*facts.Facts{without}, lock)
	require.NoError(t, err)
	assert.Empty(t, found, "in the bundle")

	found, err = missingClients(c, []*facts.Facts{without}, bundle.Lock{})
	require.NoError(t, err)
	assert.Empty(t, found, "not needed")
}
