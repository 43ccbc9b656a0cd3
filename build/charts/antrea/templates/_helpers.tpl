{{/*
One line of a configuration file's featureGates: the user's value, or the default as a comment.
Use: include "antrea.gate" (list . "ONCache" false)
*/}}
{{- define "antrea.gate" -}}
{{- $gates := (index . 0).Values.featureGates -}}
{{- $name := index . 1 -}}
{{- if hasKey $gates $name -}}
{{- printf "  %s: %t" $name (index $gates $name) -}}
{{- else -}}
{{- printf "#  %s: %t" $name (index . 2) -}}
{{- end -}}
{{- end -}}

{{/*
The gate ONCache as an argument of agent and controller, which tells users the gates of both. It is not in antrea-config: programs that know
Antrea's gates only, such as its end-to-end tests, refuse a ConfigMap with another one.
*/}}
{{- define "antrea.ownGateArgs" -}}
{{- if hasKey .Values.featureGates "ONCache" -}}
- "--feature-gates=ONCache={{ index .Values.featureGates "ONCache" }}"
{{- end -}}
{{- end -}}

{{/*
The tag of an image: the value, else the chart's version. A development version has no images of its own.
*/}}
{{- define "antrea.imageTag" -}}
{{- $chart := (index . 0).Chart -}}
{{- with (index . 1).tag -}}
{{- . -}}
{{- else -}}
{{- if hasSuffix "-dev" $chart.AppVersion -}}latest{{- else -}}v{{ $chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The keys image and imagePullPolicy of a container. Use: include "antrea.image" (list . .Values.agentImage)
*/}}
{{- define "antrea.image" -}}
{{- $image := index . 1 -}}
image: {{ printf "%s:%s" $image.repository (include "antrea.imageTag" .) | quote }}
imagePullPolicy: {{ $image.pullPolicy }}
{{- end -}}

{{/*
The klog flags of agent and controller: files on the Node, and the container's output.
Use: include "antrea.logArgs" (list . .Values.agent.antreaAgent)
*/}}
{{- define "antrea.logArgs" -}}
{{- $container := index . 1 -}}
- "--logtostderr=false"
- "--log_dir=/var/log/antrea"
- "--alsologtostderr"
- "--log_file_max_size={{ $container.logFileMaxSize }}"
- "--log_file_max_num={{ $container.logFileMaxNum }}"
{{- with (index . 0).Values.logVerbosity }}
- "--v={{ . }}"
{{- end }}
{{- end -}}

{{/*
Environment variables of a map, as a list. Use: include "antrea.extraEnv" .Values.agent.antreaAgent.extraEnv
*/}}
{{- define "antrea.extraEnv" -}}
{{- $list := list -}}
{{- range $name, $value := . -}}
{{- $list = append $list (dict "name" $name "value" (toString $value)) -}}
{{- end -}}
{{- toYaml $list -}}
{{- end -}}

{{/*
Environment variables by which a component knows its Pod. antctl finds out by POD_NAME whether it is in one.
*/}}
{{- define "antrea.podEnv" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
{{- end -}}

{{/*
Who may be asked by whom is bound to this Namespace: agents look for the controller in it, and the controller recognizes agents
by the service account in it.
*/}}
{{- define "antrea.checkNamespace" -}}
{{- if ne .Release.Namespace "kube-system" -}}
{{- fail (printf "the Namespace of the release is %q; allowed: kube-system (helm install --namespace kube-system)" .Release.Namespace) -}}
{{- end -}}
{{- end -}}

{{/*
The key securityContext of an agent container: privileged, or with capabilities besides those of the container runtime.
Use: include "antrea.securityContext" .Values.agent.antreaOVS.securityContext
*/}}
{{- define "antrea.securityContext" -}}
securityContext:
  {{- if .privileged }}
  privileged: true
  {{- else }}
  capabilities:
    add: {{ toJson .capabilities }}
  {{- end }}
{{- end -}}

{{/*
Fails if two listeners of a Node have the same port, and for the port of rewritten packets if anything else has it. Each is
protocol, port and value, separated by spaces.
*/}}
{{- define "antrea.checkPorts" -}}
{{- $tunnel := .Values.tunnelPort | default (ternary 4789 6081 (eq .Values.tunnelType "vxlan")) -}}
{{- $listeners := list
  (printf "tcp %v agent.apiPort" .Values.agent.apiPort)
  (printf "tcp %v controller.apiPort" .Values.controller.apiPort)
  (printf "tcp %v agent.clusterPort" .Values.agent.clusterPort)
  (printf "udp %v tunnelPort" $tunnel) -}}
{{- with .Values.controller.apiNodePort -}}
{{- $listeners = append $listeners (printf "tcp %v controller.apiNodePort" .) -}}
{{- end -}}
{{- with .Values.antreaProxy -}}
{{- if and .proxyAll (not .disableServiceHealthCheckServer) -}}
{{- $port := .serviceHealthCheckServerBindAddress | default "0.0.0.0:10256" | splitList ":" | last -}}
{{- $listeners = append $listeners (printf "tcp %v antreaProxy.serviceHealthCheckServerBindAddress" (int $port)) -}}
{{- end -}}
{{- end -}}
{{- $listeners = concat $listeners (list
  (printf "tcp %v oncache.rewritePort" .Values.oncache.rewritePort)
  (printf "udp %v oncache.rewritePort" .Values.oncache.rewritePort)) -}}
{{- $owners := dict -}}
{{- range $listeners -}}
{{- $parts := splitList " " . -}}
{{- $key := printf "%s/%s" (index $parts 0) (index $parts 1) -}}
{{- with get $owners $key -}}
{{- fail (printf "%s: %s is also the port of %s; allowed: a port that nothing else on a Node uses" (index $parts 2) $key .) -}}
{{- end -}}
{{- $_ := set $owners $key (index $parts 2) -}}
{{- end -}}
{{- end -}}

{{/*
Fails for settings that agents refuse together.
*/}}
{{- define "antrea.checkONCache" -}}
{{- with .Values.oncache -}}
{{- if and .openings .direct (eq .tunnel "rewrite") -}}
{{- fail "oncache.openings: true cannot be combined with oncache.tunnel rewrite and oncache.direct true; allowed: two of them" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Fails if agents would have to export flow records by a protocol that they do not speak: the default of newer releases of Antrea's chart.
*/}}
{{- define "antrea.checkCollector" -}}
{{- $gates := .Values.featureGates -}}
{{- if and .Values.flowExporter.enable (ternary $gates.FlowExporter $gates.AllAlpha (hasKey $gates "FlowExporter")) -}}
{{- if hasSuffix ":grpc" (lower .Values.flowExporter.flowCollectorAddr) -}}
{{- fail (printf "flowExporter.flowCollectorAddr: %q has the protocol grpc; allowed: tls, tcp and udp, by which agents send IPFIX (the Flow Aggregator listens at port 4739)" .Values.flowExporter.flowCollectorAddr) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The values of Antrea's chart that have no effect in this version and are given, one a line.
*/}}
{{- define "antrea.unusedValues" -}}
{{- if .Values.image }}
  image: the images are agentImage and controllerImage
{{- end }}
{{- if ne .Values.agent.kubeletRootDir "/var/lib/kubelet" }}
  agent.kubeletRootDir: nothing of the kubelet is mounted
{{- end }}
{{- if .Values.agent.antreaIPsec }}
  agent.antreaIPsec: this version has no IPsec
{{- end }}
{{- if .Values.agent.antreaSysctlInit }}
  agent.antreaSysctlInit: the agent writes sysctls itself
{{- end }}
{{- if or (ne (int .Values.agent.antreaOVS.logFileMaxSize) 100) (ne (int .Values.agent.antreaOVS.logFileMaxNum) 4) }}
  agent.antreaOVS.logFileMaxSize, logFileMaxNum: logs of Open vSwitch are rotated in the image's own way
{{- end }}
{{- end -}}
