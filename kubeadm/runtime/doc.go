// Package runtime installs, configures and queries the container runtime of a node: containerd or
// CRI-O, from archives or from packages.
//
// The input is the section runtime: of airgap.yaml (Config), facts about the host (Facts) and the
// files of the bundle. The output is the content that the bundle needs (Config.Files,
// Config.Packages), steps with undo (FilesStep, ServiceStep, PullStep, PinStep, LabelsStep,
// FapolicydStep), and a check that host, runtime and kubelet use the same cgroup driver (ReadBack,
// AgreementStep).
//
// The package does not manage the kubelet or run kubeadm. Explain adds the last log lines of a unit
// and a hint to their errors.
package runtime
