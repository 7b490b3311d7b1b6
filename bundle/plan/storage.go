package plan

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/facts"
)

// storageDrivers are the clients on the node that CSI drivers use, from the requirements in their
// documentation. A driver that has its client in its image, such as nfs.csi.k8s.io, uses none.
func storageDrivers() map[string][]string {
	block := []string{preflight.ISCSI, preflight.Multipath}
	return map[string][]string{
		"driver.longhorn.io": {preflight.ISCSI, preflight.NFS}, "jiva.csi.openebs.io": {preflight.ISCSI}, "cstor.csi.openebs.io": {preflight.ISCSI},
		"csi.san.synology.com": {preflight.ISCSI}, "csi-isilon.dellemc.com": {preflight.NFS},
		"block.csi.ibm.com": block, "csi.hpe.com": block, "hspc.csi.hitachi.com": block, "pure-csi": block,
		trident: append(block, preflight.NFS), "nfs.csi.k8s.io": nil, "nfs.csi.ceph.com": nil,
	}
}

const trident = "csi.trident.netapp.io"

// storageImages are images of drivers that create their CSIDriver and StorageClass themselves.
func storageImages() map[string]string {
	return map[string]string{"longhornio/longhorn-manager": "driver.longhorn.io", "netapp/trident-operator": trident, "netapp/trident": trident}
}

// maxStorageUsers are enough objects to name for one client.
const maxStorageUsers = 3

// storageNeeds has the objects of the bundle that need clients of the nodes, by client.
func storageNeeds(sets []operators.Set) map[string][]string {
	all := map[string][]string{}
	for _, s := range sets {
		for _, o := range s.Objects {
			by := s.Of + ": " + o.Title(s.Namespace)
			for _, client := range storageClients(o) {
				if !slices.Contains(all[client], by) && len(all[client]) < maxStorageUsers {
					all[client] = append(all[client], by)
				}
			}
		}
	}
	return all
}

// storageClients are the clients for the volumes of one object.
func storageClients(o workload.Object) []string {
	spec, _ := o.Object["spec"].(map[string]any)
	switch group := o.GroupVersionKind().Group; {
	case group == "storage.k8s.io" && o.GetKind() == "CSIDriver":
		return driverClients(o.GetName(), nil)
	case group == "storage.k8s.io" && o.GetKind() == "StorageClass":
		driver, _ := o.Object["provisioner"].(string)
		parameters, _ := o.Object["parameters"].(map[string]any)
		return driverClients(driver, parameters)
	case group == "" && o.GetKind() == "PersistentVolume":
		return volumeClients(spec)
	}
	clients := podVolumes(o.Object)
	for _, image := range operators.PodImages(o) {
		named, err := reference.Parse(image)
		if err != nil {
			continue // planning reports it
		}
		for end, driver := range storageImages() {
			if strings.HasSuffix("/"+named.Path, "/"+end) {
				clients = append(clients, driverClients(driver, nil)...)
			}
		}
	}
	return clients
}

// driverClients are the clients of a known driver, or of a driver with the protocol in its name. The
// parameters of a StorageClass can select one protocol.
func driverClients(driver string, parameters map[string]any) []string {
	for name, clients := range storageDrivers() {
		if driver != name && !strings.HasSuffix(driver, "."+name) { // an operator can put its namespace before the name
			continue
		}
		backend, _ := parameters["backendType"].(string)
		switch {
		case name == trident && strings.Contains(backend, "nas"):
			return []string{preflight.NFS}
		case name == trident && strings.Contains(backend, "san"):
			return []string{preflight.ISCSI, preflight.Multipath}
		}
		return clients
	}
	switch {
	case strings.Contains(driver, "iscsi"):
		return []string{preflight.ISCSI}
	case strings.Contains(driver, "nfs"):
		return []string{preflight.NFS}
	}
	return nil
}

// volumeClients are the clients for a volume of a pod, or for the spec of a PersistentVolume. The
// kubelet itself mounts NFS and iSCSI without a driver.
func volumeClients(volume map[string]any) []string {
	if csi, is := volume["csi"].(map[string]any); is {
		driver, _ := csi["driver"].(string)
		return driverClients(driver, nil)
	}
	var clients []string
	for _, name := range []string{preflight.NFS, preflight.ISCSI} {
		if _, is := volume[name].(map[string]any); is {
			clients = append(clients, name)
		}
	}
	return clients
}

// podVolumes finds the volumes of pod templates at any place of an object.
func podVolumes(value any) (clients []string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			clients = append(clients, podVolumes(item)...)
		}
	case map[string]any:
		volumes, _ := v["volumes"].([]any)
		for _, item := range volumes {
			volume, _ := item.(map[string]any)
			clients = append(clients, volumeClients(volume)...)
		}
		for _, item := range v {
			clients = append(clients, podVolumes(item)...)
		}
	}
	return clients
}

// missingClients are the clients that neither a server nor the bundle has. The check of preflight
// decides, as it does later on the server.
func missingClients(c *config.Cluster, surveyed []*facts.Facts, lock bundle.Lock) ([]incompatibility, error) {
	if len(lock.Storage) == 0 {
		return nil, nil
	}
	host := func(f *facts.Facts) ([]incompatibility, error) {
		want := preflight.Want{Site: c.Preflight, StorageNeeds: lock.Storage}
		for _, p := range lock.PackagesOf(f.Host) {
			want.Packages = append(want.Packages, p.NEVRA.Name)
		}
		return checked("storage-clients", f, want)
	}
	if f, known := preflight.Assumed(c.Packages.OS); known && len(surveyed) == 0 {
		some, err := host(f)
		return assumed(some), err
	}
	var all []incompatibility
	for _, f := range surveyed {
		some, err := host(f)
		if err != nil {
			return nil, fmt.Errorf("check the storage clients of %s: %w", f.Host, err)
		}
		all = append(all, some...)
	}
	return all, nil
}
