{{- define "adjoint.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "adjoint.labels" -}}
app.kubernetes.io/name: adjoint
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "adjoint.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end -}}
{{- end -}}

{{- define "adjoint.secret" -}}
{{ .Values.existingSecret | default (include "adjoint.name" .) }}
{{- end -}}

{{/* A variable from a key of the secret. */}}
{{- define "adjoint.secretVariable" -}}
- name: {{ .name }}
  valueFrom: {secretKeyRef: {name: {{ include "adjoint.secret" .root }}, key: {{ .key }}{{ if .optional }}, optional: true{{ end }}}}
{{- end -}}

{{/* The address of a pod; variables after it may refer to it as $(POD_IP). */}}
{{- define "adjoint.podAddress" -}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
{{- end -}}

{{/* What all processes need that read stored files. */}}
{{- define "adjoint.storageVariables" -}}
{{ include "adjoint.secretVariable" (dict "root" . "name" "AWS_ACCESS_KEY_ID" "key" "storage-key-id" "optional" true) }}
{{ include "adjoint.secretVariable" (dict "root" . "name" "AWS_SECRET_ACCESS_KEY" "key" "storage-secret" "optional" true) }}
{{- range $name, $key := .Values.storageVariables }}
{{ include "adjoint.secretVariable" (dict "root" $ "name" $name "key" $key) }}
{{- end }}
{{- end -}}

{{/* What all processes need that talk to Ray. */}}
{{- define "adjoint.rayVariables" -}}
- {name: RAY_AUTH_MODE, value: token}
{{ include "adjoint.secretVariable" (dict "root" . "name" "RAY_AUTH_TOKEN" "key" "ray-token") }}
- {name: RAY_USAGE_STATS_ENABLED, value: "0"}
{{- end -}}

{{- define "adjoint.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "adjoint.containerSecurity" -}}
image: {{ include "adjoint.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/* The pods of the release, as peers of a NetworkPolicy. */}}
{{- define "adjoint.own" -}}
- podSelector:
    matchLabels:
      {{- include "adjoint.labels" . | nindent 6 }}
{{- end -}}
