package preflight

import (
	"reflect"
	"testing"
	"testing/fstest"
)

// TestUmaskOfUnits: drop-ins apply in the order of their names, across all services and the unit.
// The file from the hint of the check takes effect.
func TestUmaskOfUnits(t *testing.T) {
	const all, kubelet = "etc/systemd/system/service.d/", "etc/systemd/system/kubelet.service.d/"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  Umask
	}{
		{"none", nil, Umask{}},
		{"for all", map[string]string{all + "10-cis.conf": "0077"}, Umask{Units: "0077", File: "/" + all + "10-cis.conf"}},
		{"the vendor's file is the last one", map[string]string{"usr/lib/systemd/system/service.d/20-vendor.conf": "0022", all + "10-cis.conf": "0077"},
			Umask{Units: "0022", File: "/usr/lib/systemd/system/service.d/20-vendor.conf"}},
		{"the kubelet's after it", map[string]string{all + "10-cis.conf": "0077", kubelet + "99-umask.conf": "0022"},
			Umask{Units: "0077", File: "/" + all + "10-cis.conf", Own: map[string]string{"kubelet": "0022"}}},
		{"the kubelet's before it", map[string]string{all + "zz-cis.conf": "0077", kubelet + "99-umask.conf": "0022"},
			Umask{Units: "0077", File: "/" + all + "zz-cis.conf", Own: map[string]string{"kubelet": "0077"}}},
		{"the kubelet's hides it", map[string]string{all + "cis.conf": "0077", kubelet + "cis.conf": "0022"},
			Umask{Units: "0077", File: "/" + all + "cis.conf", Own: map[string]string{"kubelet": "0022"}}},
	} {
		files := fstest.MapFS{}
		for name, mask := range test.files {
			files[name] = &fstest.MapFile{Data: []byte("[Service]\nUMask=" + mask + "\n")}
		}
		var f Facts
		if err := readUmask(t.Context(), reader{fs: files}, &f); err != nil || !reflect.DeepEqual(f.Umask, test.want) {
			t.Errorf("%s: %+v, %v, want %+v", test.name, f.Umask, err, test.want)
		}
	}
}
