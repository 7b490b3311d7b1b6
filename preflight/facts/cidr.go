package facts

import "strings"

// Connected reports whether the route is the one of a link's own network. The link is already
// in the list.
func (f *Facts) Connected(r Route) bool {
	for _, l := range f.Links {
		for _, a := range l.Addresses {
			if l.Name == r.Device && a.Masked() == r.To {
				return true
			}
		}
	}
	return false
}

// IsPodLink reports whether a pod network creates links with such a name.
func IsPodLink(name string) bool {
	for _, prefix := range []string{"cni0", "flannel.", "flannel-", "flannel0", "cali", "vxlan.calico", "tunl0", "cilium_", "lxc", "kube-", "veth"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
