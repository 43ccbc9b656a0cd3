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
