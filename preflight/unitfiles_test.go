package preflight

import (
	"fmt"
	"strings"
	"testing"

	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/unitfile"
)

// dropIns has one drop-in for each setting of a unit.
func dropIns(unit string, settings ...string) *facts.Facts {
	f := &facts.Facts{}
	for i, text := range settings {
		key, value, _ := strings.Cut(text, "=")
		path := fmt.Sprintf("/etc/systemd/system/%s.service.d/%c.conf", unit, 'a'+i)
		f.UnitFiles = append(f.UnitFiles, unitfile.File{Path: path, Unit: unit, Kind: unitfile.DropIn, Settings: []unitfile.Setting{{Line: 2, Section: "Service", Key: key, Value: value}}})
	}
	return f
}

// together are the files of all.
func together(all ...*facts.Facts) *facts.Facts {
	f := &facts.Facts{}
	for _, one := range all {
		f.UnitFiles = append(f.UnitFiles, one.UnitFiles...)
	}
	return f
}

func TestUnitFileChecks(t *testing.T) {
	file := func(kind, text string) *facts.Facts {
		key, value, _ := strings.Cut(text, "=")
		return &facts.Facts{UnitFiles: []unitfile.File{{Path: "/etc/a", Unit: "kubelet", Kind: kind, Settings: []unitfile.Setting{{Line: 3, Key: key, Value: value}}}}}
	}
	shadowed := func(paths ...string) *facts.Facts { return &facts.Facts{Programs: facts.Programs{Shadowing: paths}} }
	crictl := func(endpoint string) *facts.Facts { return &facts.Facts{Programs: facts.Programs{Crictl: endpoint}} }
	joins := Want{NodeAddress: "10.0.0.1"}
	runChecks(t, []checkTest{
		{"none", foreignUnits, &facts.Facts{}, Want{}, Pass, "none"},
		{"a hidden unit", foreignUnits,
			&facts.Facts{UnitFiles: []unitfile.File{{Path: "/etc/systemd/system/kubelet.service", Unit: "kubelet", Kind: facts.WholeUnit}}}, Want{}, Fail, "/etc/systemd/system/kubelet.service hides"},
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
		{"extra arguments", foreignUnits, file(facts.EnvironmentFile, `KUBELET_EXTRA_ARGS="--fail-swap-on=false"`), Want{}, Fail, "/etc/a line 3"},
		{"no extra arguments", foreignUnits, file(facts.EnvironmentFile, `KUBELET_EXTRA_ARGS=""`), Want{}, Pass, "none"},

		{"none", programPath, &facts.Facts{}, Want{}, Pass, "none"},
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
		{"a proxy in sysconfig", proxyEnv, file(facts.EnvironmentFile, "HTTPS_PROXY=http://p:1"), joins, Fail, "/etc/a line 3"},
		{"systemd's proxy, which the kubelet does not get", proxyEnv, func() *facts.Facts {
			f := dropIns("kubelet", "UnsetEnvironment=HTTPS_PROXY https_proxy")
			f.Manager.Proxy = map[string]string{"HTTPS_PROXY": "http://p:1"}
			return f
		}(), joins, Pass, "none"},
	})
}
