package reset

import (
	"airgap.dev/airgap/bundle/dnf"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/mirror"
	"airgap.dev/airgap/registry/trust"
	"airgap.dev/airgap/upkeep"
	"airgap.dev/airgap/verify/nodereport"
)

// Steps returns the steps of install and join in their order, for the undo. The undo needs only the
// records of each step, and no bundle or configuration. The titles describe the undo.
func Steps(wipe bool) []step.Step {
	m := site.ThisMachine()
	m.Wipe = wipe
	gpus := gpu.Setup{Host: m.Host, Root: m.Root}
	titled := func(title string, s step.Step) step.Step { s.Title = title; return s }
	return []step.Step{
		titled("Remove other host artifacts", leave.Record(m.Member)),
		titled("Remove the required signing keys", nodesteps.TrustStep(nodesteps.SiteTrust(), nil)),
		titled("Remove the network choice", site.FilesStep("network-choice", "", site.NetworkDir, nil)),
		titled("Remove the copy of the restored backup", site.FilesStep("restored", "", site.RestoredDir, nil)),
		titled("Close the cluster's ports in firewalld", settings.FirewalldStep(m.Machine, settings.Firewall{})),
		titled("Remove the registry's CA", site.FilesStep("authority", "", site.PKIDir, nil)),
		titled("Remove the users of the registry", registry.UsersStep(registry.Users{File: site.UsersFile}, nil)),
		titled("Keep the bundle unless --wipe-data is set", step.Step{Name: "store"}),
		titled("Remove the registry's certificates", registry.CertificatesStep(trust.PKI{Dir: site.PKIDir}, nil)),
		titled("Stop the registry", registry.ServiceStep(registry.Service{Host: host.Local{}, OptionsFile: site.RegistryOpts, UsersFile: site.UsersFile, Pushed: site.PushedDir})),
		titled("Remove the signed index", site.FilesStep("index", "", site.IndexDir, nil)),
		titled("Enable nouveau for the GPUs", gpu.NouveauStep(gpus)),
		titled("Remove the packages that airgap installed", dnf.PackagesStep(dnf.Transaction{Host: host.Local{}, StateDir: site.DnfDir, Log: site.DnfLog})),
		titled("Unlock the packages in dnf", dnf.VersionLockStep(dnf.VersionLock{UndoFile: site.VersionlockUndo})),
		titled("Stop loading kernel modules at boot", settings.Modules(m.Machine, nil)),
		titled("Restore kernel parameters", settings.Sysctls(m.Machine)),
		titled("Restore the reserved ports and the neighbour table", settings.NetworkLimitsStep(m.Machine, settings.NetworkLimits{})),
		titled("Let NetworkManager manage all interfaces", settings.NetworkManagerStep(m.Machine, nil)),
		titled("Let the kubelet and the runtime start without their file systems", settings.MountsStep(m.Machine, nil)),
		titled("Turn swap on", settings.SwapStep(m.Machine)),
		titled("Let the network card calculate the tunnel's checksums", settings.TunnelChecksumStep(m.Machine, "")),
		titled("Uninstall NVIDIA's driver", gpu.RunfileStep(gpus, nil)),
		titled("Stop loading NVIDIA's driver at boot", gpu.DriverStep(gpus)),
		titled("Remove the MIG instances", gpu.MIGStep(gpu.MIG{Setup: gpus})),
		titled("Remove the GPUs' CDI specification", gpu.CDIStep(gpus)),
		titled("Restore nvidia-container-runtime's configuration", gpu.RuntimeConfigStep(gpus, "")),
		titled("Remove an SELinux label rule", runtime.LabelsStep(m.Machine)),
		titled("Remove the runtime", runtime.FilesStep(m.Machine, runtime.Config{}, "", nil)),
		titled("Remove the runtime from the fapolicyd trust database", runtime.FapolicydStep(m.Machine, runtime.Config{})),
		titled("Remove the mirror from the runtime's configuration", mirror.RemoveStep(
			mirror.Config{Dir: site.CertsDir, CAFile: site.ExistingCAFile}, mirror.Config{CRIO: true, Dir: runtime.CRIOContainers})),
		titled("Stop the runtime", runtime.ServiceStep(m.Machine, runtime.Options{})),
		titled("Remove the crictl configuration", runtime.CrictlStep(m.Machine, runtime.Config{})),
		titled("Remove the record of pulled images", runtime.PullStep(m.Machine, "", "")),
		titled("Remove the audit policy and authentication rules of the API server", kubeadm.APIServerFiles(m, kubeadm.Config{})),
		titled("Remove the encryption key of Secrets", encryption.Encryption(m.Machine, "", nil)),
		titled("Remove this node from the cluster: pods, keys, interfaces, packet filter rules", kubeadm.Init(m, kubeadm.Config{}, kubeadm.Node{}, runtime.Facts{})),
		titled("Restore file modes", kubeadm.Permissions(m, kubeadm.Config{})),
		titled("Let the kubelet start without etcd's data", kubeadm.EtcdGuard(m)),
		titled("Stop the approver of join tokens", jointoken.ApproverStep(m.Machine)),
		titled("Stop the backups", backup.Step(site.Backups(), nil)),
		titled("Stop the timers that verify and renew", upkeep.Step(host.Local{}, upkeep.MetricsDir, nil)),
		titled("Stop the node reports", nodereport.ServiceStep(nodereport.Service{Host: host.Local{}, SettingsFile: site.ReportFile})),
		titled("Remove the join files", site.FilesStep("join-material", "", site.JoinDir, nil)),
	}
}
