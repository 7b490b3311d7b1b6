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

// Steps are the steps of install and join in the order in which they run,
// made for going back: that takes neither a bundle nor a configuration, only
// what each step wrote down. The titles say what is taken back.
func Steps(wipe bool) []step.Step {
	m := site.ThisMachine()
	m.Wipe = wipe
	cards := gpu.Setup{Host: m.Host, Root: m.Root}
	back := func(title string, s step.Step) step.Step { s.Title = title; return s }
	return []step.Step{
		back("Remove what else has come since", leave.Record(m.Member)),
		back("Forget which keys bundles must be signed with", nodesteps.TrustStep(site.RequiredFile, nil)),
		back("Forget how pods' packets travel", site.FilesStep("network-choice", "", site.NetworkDir, nil)),
		back("Forget the backup that this host was restored from", site.FilesStep("restored", "", site.RestoredDir, nil)),
		back("Close the cluster's ports in firewalld", settings.FirewalldStep(m.Machine, settings.Firewall{})),
		back("Forget the registry's authority", site.FilesStep("authority", "", site.PKIDir, nil)),
		back("Forget who may push to the registry", registry.UsersStep(registry.Users{File: site.UsersFile}, nil)),
		back("Leave the bundle to --wipe-data", step.Step{Name: "store"}),
		back("Remove the registry's certificates", registry.CertificatesStep(trust.PKI{Dir: site.PKIDir}, nil)),
		back("Stop the registry", registry.ServiceStep(registry.Service{Host: host.Local{}, OptionsFile: site.RegistryOpts, UsersFile: site.UsersFile, Pushed: site.PushedDir})),
		back("Forget the signed index", site.FilesStep("index", "", site.IndexDir, nil)),
		back("Let nouveau have the GPUs again", gpu.NouveauStep(cards)),
		back("Erase the packages that airgap installed", rpm.PackagesStep(rpm.Transaction{Host: host.Local{}, StateDir: site.DnfDir, Log: site.DnfLog})),
		back("Unlock the packages in dnf", rpm.VersionLockStep(rpm.VersionLock{UndoFile: site.VersionlockUndo})),
		back("No more load kernel modules at boot", settings.Modules(m.Machine, nil)),
		back("Put kernel parameters back", settings.Sysctls(m.Machine)),
		back("Let NetworkManager have all interfaces", settings.NetworkManagerStep(m.Machine, nil)),
		back("Turn swap on again", settings.SwapStep(m.Machine)),
		back("Uninstall NVIDIA's driver", gpu.RunfileStep(cards, nil)),
		back("No more load NVIDIA's driver at boot", gpu.DriverStep(cards)),
		back("Make the GPUs whole", gpu.MIGStep(gpu.MIG{Setup: cards})),
		back("Describe the GPUs to the runtime no more", gpu.CDIStep(cards)),
		back("Put nvidia-container-runtime's configuration back", gpu.RuntimeConfigStep(cards, "")),
		back("Take a label rule from SELinux", runtime.LabelsStep(m.Machine)),
		back("Remove the runtime", runtime.FilesStep(m.Machine, runtime.Config{}, "", nil)),
		back("Have fapolicyd trust the runtime no more", runtime.FapolicydStep(m.Machine, runtime.Config{})),
		back("Take the mirror from the runtime's configuration", registry.RemoveMirrors(
			registry.Mirror{Dir: site.CertsDir, CAFile: site.ExistingCAFile}, registry.Mirror{CRIO: true, Dir: runtime.CRIOContainers})),
		back("Stop the runtime", runtime.ServiceStep(m.Machine, runtime.Options{})),
		back("Have crictl ask for no runtime of ours", runtime.CrictlStep(m.Machine, runtime.Config{})),
		back("Forget that the runtime has pulled", runtime.PullStep(m.Machine, "", "")),
		back("Remove audit policy and rules of the API server", kubeadm.APIServerFiles(m, kubeadm.Config{})),
		back("Remove the key that Secrets are encrypted with", encryption.Encryption(m.Machine, "", nil)),
		back("Leave the cluster: pods, keys, interfaces, rules", kubeadm.Init(m, kubeadm.Config{}, kubeadm.Node{}, runtime.Facts{})),
		back("Give files back their modes", kubeadm.Permissions(m, kubeadm.Config{})),
		back("Stop the approver of join tokens", joincode.ApproverStep(m.Machine)),
		back("Take no more backups", backup.Step(site.Backups(), nil)),
		back("Stop the timers that verify and renew", upkeep.Step(host.Local{}, upkeep.MetricsDir, nil)),
		back("Report to the cluster no more", nodereport.ServiceStep(nodereport.Service{Host: host.Local{}, SettingsFile: site.ReportFile})),
		back("Remove what joining hosts read", site.FilesStep("join-material", "", site.JoinDir, nil)),
	}
}
