package preflight

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

// TestUnitFiles: the files of an earlier kubelet are found in all directories, with the line of
// each setting. Files of airgap and of package kubeadm are no finding.
func TestUnitFiles(t *testing.T) {
	const kubelet, text = "etc/systemd/system/kubelet.service.d/", "\n# old\n[Service]\nEnvironment=\"KUBELET_X=--a\" \\\n  TOKEN=s\nEnvironmentFile=-/etc/old\nUMask = 0022\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []UnitFile
	}{
		{"none", nil, nil},
		{"a unit that hides the package's", map[string]string{"etc/systemd/system/kubelet.service": "[Service]\n"},
			[]UnitFile{{Path: "/etc/systemd/system/kubelet.service", Unit: "kubelet", Kind: "unit"}}},
		{"a masked unit", map[string]string{"run/systemd/system/kubelet.service": ""},
			[]UnitFile{{Path: "/run/systemd/system/kubelet.service", Unit: "kubelet", Kind: "unit"}}},
		{"a unit below /usr/local", map[string]string{"usr/local/lib/systemd/system/kubelet.service": "x"},
			[]UnitFile{{Path: "/usr/local/lib/systemd/system/kubelet.service", Unit: "kubelet", Kind: "unit"}}},
		{"the package's own", map[string]string{packagedDropIn: "[Service]\nExecStart=\n", "usr/lib/systemd/system/kubelet.service": "x"}, nil},
		{"a drop-in that hides the package's", map[string]string{packagedDropIn: "ExecStart=\n", kubelet + "10-kubeadm.conf": text}, []UnitFile{{
			Path: "/" + kubelet + "10-kubeadm.conf", Unit: "kubelet", Kind: "drop-in",
			Settings: []UnitSetting{{4, "Environment=KUBELET_X=--a TOKEN="}, {6, "EnvironmentFile=-/etc/old"}, {7, "UMask=0022"}}}}},
		{"airgap's own", map[string]string{kubelet + "20-airgap.conf": "# Written by airgap: x\n[Unit]\nRequiresMountsFor=/var/lib/kubelet\n"}, nil},
		{"no drop-in", map[string]string{kubelet + "10-kubeadm.conf.rpmsave": text}, nil},
		{"arguments in /etc/default", map[string]string{"etc/default/kubelet": "# x\n\nKUBELET_EXTRA_ARGS=\"--fail-swap-on=false\"\nTOKEN=s\n"}, []UnitFile{{
			Path: "/etc/default/kubelet", Unit: "kubelet", Kind: "environment",
			Settings: []UnitSetting{{3, `KUBELET_EXTRA_ARGS="--fail-swap-on=false"`}}}}},
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
	if u := f.UnitFiles[0]; len(u.Settings) != maxUnitSettings || u.LeftOut != 1900 || len(u.Settings[1].Text) > 500 {
		t.Errorf("a long file: %d settings, %d left out", len(u.Settings), u.LeftOut)
	}
}

// dropIn has one setting of a unit.
func dropIn(unit, text string) *Facts {
	return &Facts{UnitFiles: []UnitFile{{Path: "/etc/systemd/system/" + unit + ".service.d/a.conf", Unit: unit, Kind: dropInFile, Settings: []UnitSetting{{2, text}}}}}
}

func TestUnitFileChecks(t *testing.T) {
	file := func(kind, text string) *Facts {
		return &Facts{UnitFiles: []UnitFile{{Path: "/etc/a", Unit: "kubelet", Kind: kind, Settings: []UnitSetting{{3, text}}}}}
	}
	shadowed := func(paths ...string) *Facts { return &Facts{Programs: Programs{Shadowing: paths}} }
	crictl := func(endpoint string) *Facts { return &Facts{Programs: Programs{Crictl: endpoint}} }
	joins := Want{NodeAddress: "10.0.0.1"}
	runChecks(t, []checkTest{
		{"none", foreignUnits, &Facts{}, Want{}, Pass, "none"},
		{"a hidden unit", foreignUnits,
			&Facts{UnitFiles: []UnitFile{{Path: "/etc/systemd/system/kubelet.service", Unit: "kubelet", Kind: wholeUnit}}}, Want{}, Fail, "/etc/systemd/system/kubelet.service hides"},
		{"other arguments", foreignUnits, dropIn("kubelet", "ExecStart="), Want{}, Fail, "/etc/systemd/system/kubelet.service.d/a.conf line 2: ExecStart="},
		{"other arguments on a node", foreignUnits, dropIn("kubelet", "ExecStart="), Want{Managed: true}, Warn, "line 2"},
		{"a variable for arguments", foreignUnits, dropIn("kubelet", "Environment=KUBELET_EXTRA_ARGS=--x"), Want{}, Fail, "KUBELET_EXTRA_ARGS"},
		{"a variable of Go", foreignUnits, dropIn("kubelet", "Environment=GODEBUG="), Want{}, Warn, "GODEBUG"},
		{"limits of the site", foreignUnits, dropIn("kubelet", "LimitNOFILE="), Want{}, Pass, "none"},
		{"a mask", foreignUnits, dropIn("kubelet", "UMask=0022"), Want{}, Pass, "none"},
		{"an unknown setting", foreignUnits, dropIn("containerd", "ProtectHome="), Want{}, Warn, "ProtectHome"},
		{"the runtime's program", foreignUnits, dropIn("containerd", "ExecStart="), Want{}, Fail, "containerd.service.d"},
		{"the other runtime's program", foreignUnits, dropIn("containerd", "ExecStart="), Want{CRIO: true}, Pass, "none"},
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

		{"a proxy of the kubelet", proxyEnv, dropIn("kubelet", "Environment=HTTPS_PROXY=http://p:1 NO_PROXY=localhost"), joins, Fail,
			"/etc/systemd/system/kubelet.service.d/a.conf line 2 sets a proxy that also applies to 10.0.0.1"},
		{"a proxy of all services", proxyEnv, dropIn("service", "Environment=http_proxy=p:1"), joins, Fail, "service.service.d/a.conf line 2"},
		{"a proxy of the runtime", proxyEnv, dropIn("containerd", "Environment=HTTPS_PROXY=http://p:1"), joins, Pass, "none"},
		{"a proxy with exceptions", proxyEnv, dropIn("kubelet", "Environment=HTTPS_PROXY=http://p:1 NO_PROXY=10.0.0.0/8"), joins, Pass, "none for"},
		{"a proxy in sysconfig", proxyEnv, file(environmentFile, "HTTPS_PROXY=http://p:1"), joins, Fail, "/etc/a line 3"},
		{"systemd's proxy, which the kubelet does not get", proxyEnv, func() *Facts {
			f := dropIn("kubelet", "UnsetEnvironment=HTTPS_PROXY https_proxy")
			f.Manager.Proxy = map[string]string{"HTTPS_PROXY": "http://p:1"}
			return f
		}(), joins, Pass, "none"},
	})
}
