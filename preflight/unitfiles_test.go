package preflight

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

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
			Settings: []unitfile.Setting{{Line: 4, Section: "Service", Key: "Environment", Value: "KUBELET_X=--a TOKEN="}, {Line: 6, Section: "Service", Key: "EnvironmentFile", Value: "-/etc/old"}, {Line: 7, Section: "Service", Key: "UMask", Value: "0022"}}}}},
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

// dropIns has one drop-in for each setting of a unit.
func dropIns(unit string, settings ...string) *Facts {
	f := &Facts{}
	for i, text := range settings {
		key, value, _ := strings.Cut(text, "=")
		path := fmt.Sprintf("/etc/systemd/system/%s.service.d/%c.conf", unit, 'a'+i)
		f.UnitFiles = append(f.UnitFiles, unitfile.File{Path: path, Unit: unit, Kind: unitfile.DropIn, Settings: []unitfile.Setting{{Line: 2, Section: "Service", Key: key, Value: value}}})
	}
	return f
}

// together are the files of all.
func together(all ...*Facts) *Facts {
	f := &Facts{}
	for _, one := range all {
		f.UnitFiles = append(f.UnitFiles, one.UnitFiles...)
	}
	return f
}

func TestUnitFileChecks(t *testing.T) {
	file := func(kind, text string) *Facts {
		key, value, _ := strings.Cut(text, "=")
		return &Facts{UnitFiles: []unitfile.File{{Path: "/etc/a", Unit: "kubelet", Kind: kind, Settings: []unitfile.Setting{{Line: 3, Key: key, Value: value}}}}}
	}
	shadowed := func(paths ...string) *Facts { return &Facts{Programs: Programs{Shadowing: paths}} }
	crictl := func(endpoint string) *Facts { return &Facts{Programs: Programs{Crictl: endpoint}} }
	joins := Want{NodeAddress: "10.0.0.1"}
	runChecks(t, []checkTest{
		{"none", foreignUnits, &Facts{}, Want{}, Pass, "none"},
		{"a hidden unit", foreignUnits,
			&Facts{UnitFiles: []unitfile.File{{Path: "/etc/systemd/system/kubelet.service", Unit: "kubelet", Kind: wholeUnit}}}, Want{}, Fail, "/etc/systemd/system/kubelet.service hides"},
		{"other arguments", foreignUnits, dropIns("kubelet", "ExecStart="), Want{}, Fail, "/etc/systemd/system/kubelet.service.d/a.conf line 2: ExecStart="},
		{"other arguments on a node", foreignUnits, dropIns("kubelet", "ExecStart="), Want{Managed: true}, Warn, "line 2"},
		{"a variable for arguments", foreignUnits, dropIns("kubelet", "Environment=KUBELET_EXTRA_ARGS=--x"), Want{}, Fail, "KUBELET_EXTRA_ARGS"},
		{"a variable of Go", foreignUnits, dropIns("kubelet", "Environment=GODEBUG="), Want{}, Warn, "GODEBUG"},
		{"limits of the site", foreignUnits, dropIns("kubelet", "LimitNOFILE="), Want{}, Pass, "none"},
		{"a mask", foreignUnits, dropIns("kubelet", "UMask=0022"), Want{}, Pass, "none"},
		{"an unknown setting", foreignUnits, dropIns("containerd", "Slice="), Want{}, Warn, "Slice"},
		{"a setting of another check", foreignUnits, dropIns("containerd", "ProtectHome=yes"), Want{}, Pass, "none"},
		{"the runtime's program", foreignUnits, dropIns("containerd", "ExecStart="), Want{}, Fail, "containerd.service.d"},
		{"the other runtime's program", foreignUnits, dropIns("containerd", "ExecStart="), Want{CRIO: true}, Pass, "none"},
		{"extra arguments", foreignUnits, file(environmentFile, `KUBELET_EXTRA_ARGS="--fail-swap-on=false"`), Want{}, Fail, "/etc/a line 3"},
		{"no extra arguments", foreignUnits, file(environmentFile, `KUBELET_EXTRA_ARGS=""`), Want{}, Pass, "none"},

		{"none", programPath, &Facts{}, Want{}, Pass, "none"},
		{"an old kubeadm", programPath, shadowed("/usr/local/bin/kubeadm"), Want{CRIO: true}, Fail, "/usr/local/bin/kubeadm before"},
		{"an old kubeadm on a node", programPath, shadowed("/usr/local/bin/kubeadm"), Want{Managed: true}, Warn, "kubeadm"},
		{"an old kubectl", programPath, shadowed("/usr/local/bin/kubectl"), Want{}, Warn, "kubectl"},
		{"a shim of the other runtime", programPath, shadowed("/usr/local/bin/containerd"), Want{CRIO: true}, Warn, "containerd"},
		{"an old runc", programPath, shadowed("/usr/local/sbin/runc"), Want{CRIO: true, RuntimePackage: "cri-o"}, Fail, "runc"},
		{"an old runc, and airgap's own comes first", programPath, shadowed("/usr/local/sbin/runc"), Want{}, Warn, "runc"},
		{"an old shim", programPath, shadowed("/usr/local/bin/containerd-shim-runc-v2"), Want{RuntimePackage: "containerd.io"}, Fail, "shim"},
		{"crictl asks docker", programPath, crictl("unix:///var/run/dockershim.sock"), Want{}, Warn, "/etc/crictl.yaml"},
		{"crictl asks this runtime", programPath, crictl("unix:///run/containerd/containerd.sock"), Want{}, Pass, "none"},

		{"a proxy of the kubelet", proxyEnv, dropIns("kubelet", "Environment=HTTPS_PROXY=http://p:1 NO_PROXY=localhost"), joins, Fail,
			"/etc/systemd/system/kubelet.service.d/a.conf line 2 sets a proxy that also applies to 10.0.0.1"},
		{"a proxy of all services", proxyEnv, dropIns("service", "Environment=http_proxy=p:1"), joins, Fail, "service.service.d/a.conf line 2"},
		{"a proxy of the runtime", proxyEnv, dropIns("containerd", "Environment=HTTPS_PROXY=http://p:1"), joins, Pass, "none"},
		{"a proxy with exceptions", proxyEnv, dropIns("kubelet", "Environment=HTTPS_PROXY=http://p:1 NO_PROXY=10.0.0.0/8"), joins, Pass, "none for"},
		{"a proxy in sysconfig", proxyEnv, file(environmentFile, "HTTPS_PROXY=http://p:1"), joins, Fail, "/etc/a line 3"},
		{"systemd's proxy, which the kubelet does not get", proxyEnv, func() *Facts {
			f := dropIns("kubelet", "UnsetEnvironment=HTTPS_PROXY https_proxy")
			f.Manager.Proxy = map[string]string{"HTTPS_PROXY": "http://p:1"}
			return f
		}(), joins, Pass, "none"},
	})
}
