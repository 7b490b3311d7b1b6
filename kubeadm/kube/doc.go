// Package kube reaches the API server of a cluster from one of its hosts.
//
// In flow the kubeconfig files that kubeadm has written on this host (AdminConf, KubeletConf). Out
// flow clients (Client, RESTConfig; OwnAPIServer asks the one of this host), and the workloads
// whose pods are started again. While an API server starts, its answers are asked for again.
package kube
