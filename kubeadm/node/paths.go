package node

const ManifestsDir = "/etc/kubernetes/manifests"

const EtcdDir = "/var/lib/etcd"

const PkiDir = "/etc/kubernetes/pki"
