// Package runtime installs the container runtime of a node, configures it and asks it: containerd
// or CRI-O, from archives or from packages.
//
// In flow the section runtime: of airgap.yaml (Config), what was observed of the host (Facts) and
// the files of the bundle. Out flow what the bundle has to hold (Config.Files, Config.Packages),
// steps with their undo (FilesStep, ServiceStep, PullStep, PinStep, LabelsStep, FapolicydStep), and
// whether host, runtime and kubelet use the same cgroup driver (ReadBack, AgreementStep).
//
// The kubelet itself, and what kubeadm does, is none of its business. Explain adds to the errors of
// both what their units said last, and a next step.
package runtime
