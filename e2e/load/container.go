package load

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// containers returns the containers of a pod: one for a system workload, an application
// and its sidecar else. Without images, as in a template, they have names by tag that no
// registry has.
func (w workload) containers(images []string) []corev1.Container {
	image := func(i int) string {
		if len(images) == 0 {
			return "quay.io/bank/" + w.name + ":4.11.2"
		}
		return images[(w.number+i)%len(images)]
	}
	main := container(w.name, image(0), 8080, "500m", "512Mi")
	main.VolumeMounts = []corev1.VolumeMount{token(), mount("config", "/etc/app")}
	if w.system {
		return []corev1.Container{main}
	}
	main.Env = environment(w.name)
	main.ReadinessProbe = probe("/readyz")
	main.VolumeMounts = append(main.VolumeMounts, mount("cache", "/var/cache/app"))
	sidecar := container("log-shipper", image(1), 2020, "50m", "64Mi")
	sidecar.VolumeMounts = []corev1.VolumeMount{token(), mount("cache", "/var/cache/app")}
	return []corev1.Container{main, sidecar}
}

func container(name, image string, port int32, cpu, memory string) corev1.Container {
	asked := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	return corev1.Container{
		Name: name, Image: image, Command: []string{"/usr/local/bin/" + name},
		Ports:                  []corev1.ContainerPort{{Name: "http", ContainerPort: port, Protocol: corev1.ProtocolTCP}},
		Resources:              corev1.ResourceRequirements{Requests: asked, Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}},
		TerminationMessagePath: corev1.TerminationMessagePathDefault, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		ImagePullPolicy: corev1.PullIfNotPresent,
	}
}

func mount(volume, at string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: volume, MountPath: at}
}

const tokenVolume = "kube-api-access-x7k2p"

// token is the volume that each container mounts.
func token() corev1.VolumeMount {
	m := mount(tokenVolume, "/var/run/secrets/kubernetes.io/serviceaccount")
	m.ReadOnly = true
	return m
}

// environment has the three kinds of variables: values, fields of the pod, and a key of a Secret.
func environment(name string) []corev1.EnvVar {
	all := []corev1.EnvVar{
		{Name: "LOG_LEVEL", Value: "info"},
		{Name: "DATABASE_HOST", Value: name + "-postgresql-primary.shop.svc.cluster.local"},
	}
	for _, of := range [][2]string{{"POD_NAME", "metadata.name"}, {"POD_IP", "status.podIP"}} {
		all = append(all, corev1.EnvVar{Name: of[0], ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: of[1]}}})
	}
	return append(all, corev1.EnvVar{Name: "DATABASE_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: name + "-database"}, Key: "password",
	}}})
}
