// Package kube reaches the API server of a cluster from one of its hosts.
//
// In flow the kubeconfig files that kubeadm has written on this host (AdminConf, KubeletConf). Out
// flow clients (Client, RESTConfig; OwnAPIServer uses the API server of this host), and workloads for a
// restart of their pods. While an API server starts, requests are repeated.
package kube
