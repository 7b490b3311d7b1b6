package facts

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/preflight/unitfile"
)

// TestUnitFiles: the files of an earlier kubelet are found in all directories, with the line of
// each setting. Files of airgap and of package kubeadm are no finding.
func TestUnitFiles(t *testing.T) {
	const kubelet, text = "etc/systemd/system/kubelet.service.d/", "\n# old\n[Service]\nEnvironment=\"KUBELET_X=--a\" \\\n  TOKEN=s\nEnvironmentFile=-/etc/old\nUMask = 0022\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []unitfile.File
	}{
		{"none", nil, nil},
		{"a unit that hides the package's", map[string]string{"etc/systemd/system/kubelet.service": "[Service]\n"},
			[]unitfile.File{{Path: "/etc/systemd/system/kubelet.service", Unit: "kubelet", Kind: "unit"}}},
		{"a masked unit", map[string]string{"run/systemd/system/kubelet.service": ""},
			[]unitfile.File{{Path: "/run/systemd/system/kubelet.service", Unit: "kubelet", Kind: "unit"}}},
		{"a unit below /usr/local", map[string]string{"usr/local/lib/systemd/system/kubelet.service": "x"},
			[]unitfile.File{{Path: "/usr/local/lib/systemd/system/kubelet.service", Unit: "kubelet", Kind: "unit"}}},
		{"the package's own", map[string]string{packagedDropIn: "[Service]\nExecStart=\n", "usr/lib/systemd/system/kubelet.service": "x"}, nil},
		{"a drop-in that hides the package's", map[string]string{packagedDropIn: "ExecStart=\n", kubelet + "10-kubeadm.conf": text}, []unitfile.File{{
			Path: "/" + kubelet + "10-kubeadm.conf", Unit: "kubelet", Kind: "drop-in",
			Settings: []unitfile.Setting{{Line: 4, Section: "Service", Key: "Environment", Value: "KUBELET_X=--a TOKEN="}, {Line: 6, Section: "Service", Key: "EnvironmentFile", Value: "-/etc/old"},
				{Line: 7, Section: "Service", Key: "UMask", Value: "0022"}}}}},
		{"airgap's own", map[string]string{kubelet + "20-airgap.conf": "# Written by airgap: x\n[Unit]\nRequiresMountsFor=/var/lib/kubelet\n"}, nil},
		{"no drop-in", map[string]string{kubelet + "10-kubeadm.conf.rpmsave": text}, nil},
		{"arguments in /etc/default", map[string]string{"etc/default/kubelet": "# x\n\nKUBELET_EXTRA_ARGS=\"--fail-swap-on=false\"\nTOKEN=s\n"}, []unitfile.File{{
			Path: "/etc/default/kubelet", Unit: "kubelet", Kind: "environment",
			Settings: []unitfile.Setting{{Line: 3, Key: "KUBELET_EXTRA_ARGS", Value: `"--fail-swap-on=false"`}}}}},
	} {
		files := fstest.MapFS{}
		for name, content := range test.files {
			files[name] = &fstest.MapFile{Data: []byte(content)}
		}
		var f Facts
		if err := readUnitFiles(t.Context(), reader{fs: files}, &f); err != nil || !reflect.DeepEqual(f.UnitFiles, test.want) {
			t.Errorf("%s: %+v, %v, want %+v", test.name, f.UnitFiles, err, test.want)
		}
	}
	var f Facts
	long := fstest.MapFS{kubelet + "a.conf": {Data: []byte(strings.Repeat("After=x\nEnvironmentFile="+strings.Repeat("y", 1000)+"\n", 1000))}}
	if err := readUnitFiles(t.Context(), reader{fs: long}, &f); err != nil || len(f.UnitFiles) != 1 {
		t.Fatalf("a long file: %v", err)
	}
	if u := f.UnitFiles[0]; len(u.Settings)+u.LeftOut != 2000 || u.LeftOut == 0 || len(u.Settings[1].Value) > 500 {
		t.Errorf("a long file: %d settings, %d left out", len(u.Settings), u.LeftOut)
	}
}

// TestEnabledUnits: a link that an uninstalled agent has left starts nothing.
func TestEnabledUnits(t *testing.T) {
	root := t.TempDir()
	wants := filepath.Join(root, enabledUnits)
	require.NoError(t, os.MkdirAll(wants, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "falcon-sensor.service"), nil, 0o600))
	require.NoError(t, os.Symlink("../../../../falcon-sensor.service", filepath.Join(wants, "falcon-sensor.service")))
	require.NoError(t, os.Symlink("/nowhere/mdatp.service", filepath.Join(wants, "mdatp.service")))
	names, err := reader{fs: os.DirFS(root)}.enabled()
	require.NoError(t, err)
	require.Equal(t, []string{"falcon-sensor.service"}, names)
}
