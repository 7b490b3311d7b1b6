package reset

import (
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/joincode"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/upkeep"
	"airgap.dev/airgap/verify/nodereport"
)

// Steps returns the steps of install and join in their order, for the undo. The undo needs only the
// records of each step, and no bundle or configuration. The titles describe the undo.
func Steps(wipe bool) []step.Step {
	m := site.ThisMachine()
	m.Wipe = wipe
	cards := gpu.Setup{Host: m.Host, Root: m.Root}
	back := func(title string, s step.Step) step.Step { s.Title = title; return s }
	return []step.Step{
		back("Remove other host artifacts", leave.Record(m.Member)),
		back("Remove the required signing keys", nodesteps.TrustStep(site.RequiredFile, nil)),
		back("Remove the network choice", site.FilesStep("network-choice", "", site.NetworkDir, nil)),
		back("Remove the copy of the restored backup", site.FilesStep("restored", "", site.RestoredDir, nil)),
		back("Close the cluster's ports in firewalld", settings.FirewalldStep(m.Machine, settings.Firewall{})),
		back("Remove the registry's CA", site.FilesStep("authority", "", site.PKIDir, nil)),
		back("Remove the users of the registry", registry.UsersStep(registry.Users{File: site.UsersFile}, nil)),
		back("Keep the bundle unless --wipe-data is set", step.Step{Name: "store"}),
		back("Remove the registry's certificates", registry.CertificatesStep(trust.PKI{Dir: site.PKIDir}, nil)),
		back("Stop the registry", registry.ServiceStep(registry.Service{Host: host.Local{}, OptionsFile: site.RegistryOpts, UsersFile: site.UsersFile, Pushed: site.PushedDir})),
		back("Remove the signed index", site.FilesStep("index", "", site.IndexDir, nil)),
		back("Enable nouveau for the GPUs", gpu.NouveauStep(cards)),
		back("Remove the packages that airgap installed", rpm.PackagesStep(rpm.Transaction{Host: host.Local{}, StateDir: site.DnfDir, Log: site.DnfLog})),
		back("Unlock the packages in dnf", rpm.VersionLockStep(rpm.VersionLock{UndoFile: site.VersionlockUndo})),
		back("Stop loading kernel modules at boot", settings.Modules(m.Machine, nil)),
		back("Restore kernel parameters", settings.Sysctls(m.Machine)),
		back("Let NetworkManager manage all interfaces", settings.NetworkManagerStep(m.Machine, nil)),
		back("Turn swap on", settings.SwapStep(m.Machine)),
		back("Uninstall NVIDIA's driver", gpu.RunfileStep(cards, nil)),
		back("Stop loading NVIDIA's driver at boot", gpu.DriverStep(cards)),
		back("Remove the MIG instances", gpu.MIGStep(gpu.MIG{Setup: cards})),
		back("Remove the GPUs' CDI specification", gpu.CDIStep(cards)),
		back("Restore nvidia-container-runtime's configuration", gpu.RuntimeConfigStep(cards, "")),
		back("Remove an SELinux label rule", runtime.LabelsStep(m.Machine)),
		back("Remove the runtime", runtime.FilesStep(m.Machine, runtime.Config{}, "", nil)),
		back("Remove the runtime from the fapolicyd trust database", runtime.FapolicydStep(m.Machine, runtime.Config{})),
		back("Remove the mirror from the runtime's configuration", registry.RemoveMirrors(
			registry.Mirror{Dir: site.CertsDir, CAFile: site.ExistingCAFile}, registry.Mirror{CRIO: true, Dir: runtime.CRIOContainers})),
		back("Stop the runtime", runtime.ServiceStep(m.Machine, runtime.Options{})),
		back("Remove the crictl configuration", runtime.CrictlStep(m.Machine, runtime.Config{})),
		back("Remove the record of pulled images", runtime.PullStep(m.Machine, "", "")),
		back("Remove the audit policy and authentication rules of the API server", kubeadm.APIServerFiles(m, kubeadm.Config{})),
		back("Remove the encryption key of Secrets", encryption.Encryption(m.Machine, "", nil)),
		back("Remove this node from the cluster: pods, keys, interfaces, packet filter rules", kubeadm.Init(m, kubeadm.Config{}, kubeadm.Node{}, runtime.Facts{})),
		back("Restore file modes", kubeadm.Permissions(m, kubeadm.Config{})),
		back("Stop the approver of join tokens", joincode.ApproverStep(m.Machine)),
		back("Stop the backups", backup.Step(site.Backups(), nil)),
		back("Stop the timers that verify and renew", upkeep.Step(host.Local{}, upkeep.MetricsDir, nil)),
		back("Stop the node reports", nodereport.ServiceStep(nodereport.Service{Host: host.Local{}, SettingsFile: site.ReportFile})),
		back("Remove the join files", site.FilesStep("join-material", "", site.JoinDir, nil)),
	}
}
